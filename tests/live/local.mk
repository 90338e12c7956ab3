# tests/live - helpers of the live tests. The tests themselves need no line: tests/run finds them.
check_PROGRAMS += tests/live/subreaper
tests_live_subreaper_LDADD =
check_PROGRAMS += tests/live/inside_demo tests/live/inside_probe
tests_live_inside_probe_LDADD =
tests_live_inside_probe_CFLAGS = $(PLAIN_CFLAGS)
tests_live_inside_probe_LDFLAGS = $(PLAIN_LDFLAGS) $(PLAIN_LINK)
check_PROGRAMS += tests/live/base_demo
check_PROGRAMS += tests/live/net_demo
check_PROGRAMS += tests/live/hold_demo
tests_live_hold_demo_LDFLAGS = $(AM_LDFLAGS) $(CLI_LINK)
tests_live_hold_demo_LDADD = $(HOST_ARCHIVES) $(HOST_LIBS)

# The program with the hooks that make a start fail, or kill itself, at any stage. Never installed.
check_PROGRAMS += tests/live/ohsandbox-hooked
tests_live_ohsandbox_hooked_SOURCES = src/cli/main.c src/launch/lifecycle.c
tests_live_ohsandbox_hooked_CPPFLAGS = $(AM_CPPFLAGS) -DOHS_TEST_HOOKS=1
tests_live_ohsandbox_hooked_LDFLAGS = $(AM_LDFLAGS) $(CLI_LINK)
tests_live_ohsandbox_hooked_LDADD = $(HOST_ARCHIVES) $(HOST_LIBS)
check_PROGRAMS += tests/live/cgroup_demo

# The program as valgrind can look into it.
check_PROGRAMS += tests/live/ohsandbox-dynamic
tests_live_ohsandbox_dynamic_SOURCES = src/cli/main.c
tests_live_ohsandbox_dynamic_LDFLAGS = $(AM_LDFLAGS) $(DYNAMIC_LINK)
tests_live_ohsandbox_dynamic_LDADD = $(HOST_ARCHIVES) $(HOST_LIBS)

check_PROGRAMS += tests/live/without
tests_live_without_LDADD = $(SECCOMP_LIBS)

check_PROGRAMS += tests/live/pick
tests_live_pick_LDFLAGS = $(AM_LDFLAGS) $(CLI_LINK)
tests_live_pick_LDADD = libbase.a $(YAJL_LIBS)
# A service manager, for the daemon.
check_PROGRAMS += tests/live/manager
tests_live_manager_LDADD =
