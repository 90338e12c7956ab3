# tests/live - helpers of the live tests. The tests themselves need no line: tests/run finds them.
check_PROGRAMS += tests/live/subreaper
tests_live_subreaper_LDADD =
check_PROGRAMS += tests/live/inside_demo tests/live/inside_probe
tests_live_inside_probe_LDADD =
tests_live_inside_probe_LDFLAGS = $(AM_LDFLAGS) $(EXECUTOR_LINK)
check_PROGRAMS += tests/live/base_demo
check_PROGRAMS += tests/live/net_demo
