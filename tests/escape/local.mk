# tests/escape - programs that try to get out. The tests themselves need no line: tests/run finds
# NN_name.sh files, written with tests/live/lib.sh.
# Static, so that it runs in any root file system.
check_PROGRAMS += tests/escape/probe
tests_escape_probe_LDADD =
tests_escape_probe_CFLAGS = $(PLAIN_CFLAGS)
tests_escape_probe_LDFLAGS = $(PLAIN_LDFLAGS) $(PLAIN_LINK)
check_PROGRAMS += tests/escape/storm
tests_escape_storm_LDADD =
tests_escape_storm_CFLAGS = $(PLAIN_CFLAGS)
tests_escape_storm_LDFLAGS = $(PLAIN_LDFLAGS) $(PLAIN_LINK)
check_PROGRAMS += tests/escape/knock
tests_escape_knock_LDADD =
tests_escape_knock_CFLAGS = $(PLAIN_CFLAGS)
tests_escape_knock_LDFLAGS = $(PLAIN_LDFLAGS) $(PLAIN_LINK)

# Executors that obey whoever asks: what is left to who has taken over the server. Never installed.
check_PROGRAMS += tests/escape/obey tests/escape/obey_uncaged
tests_escape_obey_SOURCES = sandbox/executor/main.c tests/escape/obey.c
tests_escape_obey_LDFLAGS = $(AM_LDFLAGS) $(EXECUTOR_LINK)
tests_escape_obey_LDADD = libexecutor.a libctl.a libhttp.a libbase.a $(EXECUTOR_LIBS)
tests_escape_obey_uncaged_SOURCES = $(tests_escape_obey_SOURCES)
tests_escape_obey_uncaged_LDFLAGS = $(tests_escape_obey_LDFLAGS) -Wl,--wrap=cage_server
tests_escape_obey_uncaged_LDADD = $(tests_escape_obey_LDADD)
