# SPDX-License-Identifier: MIT
# 09_cgroup.sh - a session's groups: what bounds it, what says so, and how they go.
#
# cgroup_demo makes the groups and is the workload in them.

file_setup() { install -m 755 "$OHS_BUILD/tests/live/cgroup_demo" "$BASE/cgroup_demo"; }

demo() {
	run as_me "$BASE/cgroup_demo" "$1"
	[ "$status" -ne 77 ] || skip "$out"
	assert_status 0
}

test_workload_out_of_memory_ends_and_the_executor_does_not() { demo workload_out_of_memory_ends_and_the_executor_does_not; }
test_forks_stop_at_the_limit_and_their_processes_go_with_the_groups() { demo forks_stop_at_the_limit_and_their_processes_go_with_the_groups; }
test_too_much_cpu_is_said() { demo too_much_cpu_is_said; }
test_processes_that_breed_go_with_the_groups() { demo processes_that_breed_go_with_the_groups; }
test_start_over_the_remains_of_another_takes_them_over() { demo start_over_the_remains_of_another_takes_them_over; }
