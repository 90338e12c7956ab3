# SPDX-License-Identifier: MIT
# 11_net.sh - the network of sessions: who reaches whom, and what stops the rest.
# as: root
#
# net_demo makes sessions' networks by hand, and is the hostile process in them.

file_setup() {
	need net_admin
	need cmd nft
	need cmd ip
	install -m 755 "$OHS_BUILD/tests/live/net_demo" "$BASE/net_demo"
	# It is looked for beside the program that starts it.
	install -m 755 "$OHS_BUILD/ohsandbox-firewall" "$BASE/ohsandbox-firewall"
}

demo() {
	run "$BASE/net_demo" "$1"
	assert_status 0
}

test_host_reaches_a_session() { demo host_reaches_a_session; }
test_session_without_a_way_out_reaches_nobody() { demo session_without_a_way_out_reaches_nobody; }
test_sessions_do_not_reach_each_other() { demo sessions_do_not_reach_each_other; }
test_session_that_may_go_out_reaches_the_world_and_no_private_address() { demo session_that_may_go_out_reaches_the_world_and_no_private_address; }
test_way_out_of_one_is_no_way_out_of_another() { demo way_out_of_one_is_no_way_out_of_another; }
test_forwarding_is_switched_per_interface_and_undone() { demo forwarding_is_switched_per_interface_and_undone; }
test_host_does_not_forward_for_others_because_of_us() { demo host_does_not_forward_for_others_because_of_us; }
test_forged_frames_stop_at_the_port() { demo forged_frames_stop_at_the_port; }
test_flushed_rules_come_back_with_the_next_session() { demo flushed_rules_come_back_with_the_next_session; }
test_link_that_outlived_its_session_is_replaced() { demo link_that_outlived_its_session_is_replaced; }
test_second_thousand_has_a_bridge_of_its_own() { demo second_thousand_has_a_bridge_of_its_own; }
test_clean_takes_all_away_but_not_under_a_session() { demo clean_takes_all_away_but_not_under_a_session; }
test_connections_of_one_session_are_bounded() { demo connections_of_one_session_are_bounded; }
test_loopback_low_ports_and_pings_need_no_capability() { demo loopback_low_ports_and_pings_need_no_capability; }
test_links_have_no_ipv6() { demo links_have_no_ipv6; }

test_every_behaviour_of_the_demo_is_run_here() {
	run "$BASE/net_demo"
	assert_status 0
	for name in $out; do
		grep -q "demo $name;" "$OHS_FILE" || fail "$name is not"
	done
}
