# tests/escape - programs that try to get out. The tests themselves need no line: tests/run finds
# NN_name.sh files, written with tests/live/lib.sh.
# Static, so that it runs in any root file system.
check_PROGRAMS += tests/escape/probe
tests_escape_probe_LDADD =
tests_escape_probe_CFLAGS = $(PLAIN_CFLAGS)
tests_escape_probe_LDFLAGS = $(PLAIN_LDFLAGS) $(PLAIN_LINK)
