# tests/live - helpers of the live tests. The tests themselves need no line: tests/run finds them.
check_PROGRAMS += tests/live/subreaper
tests_live_subreaper_LDADD =
