/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "launch/idmap.h"
#include "sandbox/ids.h"

static struct id_map map_of(unsigned n, struct id_range a, struct id_range b, struct id_range c)
{
	return (struct id_map) { .n = n, .range = { a, b, c } };
}

static void map_text_has_a_line_a_range(void **state)
{
	struct id_map map = map_of(2, (struct id_range) { 0, 4294901760u, 65520 },
				   (struct id_range) { 65534, 4294967294u, 1 },
				   (struct id_range) { 0 });
	char text[IDS_MAP_TEXT_BYTES];
	size_t len = ids_map_text(&map, text, sizeof(text));

	(void)state;
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "0 4294901760 65520\n65534 4294967294 1\n");
}

static void the_largest_map_fits_its_text(void **state)
{
	struct id_map map = { .n = IDS_RANGES_MAX };
	char text[IDS_MAP_TEXT_BYTES];

	(void)state;
	for (unsigned i = 0; i < IDS_RANGES_MAX; i++)
		map.range[i] = (struct id_range) { UINT32_MAX, UINT32_MAX, UINT32_MAX };
	assert_int_equal(ids_map_text(&map, text, sizeof(text)), IDS_RANGES_MAX * 33);
}

static void a_text_too_small_is_cut_and_ended(void **state)
{
	struct id_map map = map_of(1, (struct id_range) { 0, 100000, 65536 },
				   (struct id_range) { 0 }, (struct id_range) { 0 });
	char text[8];

	(void)state;
	assert_int_equal(ids_map_text(&map, text, sizeof(text)), 7);
	assert_string_equal(text, "0 10000");
}

static void an_id_outside_every_range_is_not_mapped(void **state)
{
	struct id_map map = map_of(2, (struct id_range) { 0, 5000, 10 },
				   (struct id_range) { 20, 7000, 2 }, (struct id_range) { 0 });
	uint32_t id = 1;

	(void)state;
	assert_true(ids_outside(&map, 9, &id));
	assert_int_equal(id, 5009);
	assert_true(ids_outside(&map, 21, &id));
	assert_int_equal(id, 7001);
	assert_false(ids_outside(&map, 10, &id));
	assert_false(ids_outside(&map, 19, &id));
	assert_false(ids_outside(&map, 22, &id));
	assert_false(ids_outside(&map, UINT32_MAX, &id));
	assert_int_equal(id, 7001);
}

static void without_a_root_the_one_user_owns_what_is_made(void **state)
{
	struct id_map with_root = map_of(1, (struct id_range) { 0, 300, 10 },
					 (struct id_range) { 0 }, (struct id_range) { 0 });
	struct id_map one = map_of(1, (struct id_range) { 1000, 7, 1 }, (struct id_range) { 0 },
				   (struct id_range) { 0 });

	(void)state;
	assert_int_equal(ids_owner(&with_root), 300);
	assert_int_equal(ids_owner(&one), 7);
}

static const struct policy_user openhands = { .name = (char *)"openhands", .uid = 1000, .gid = 0 };

static const struct host caller = {
	.uid = 501,
	.gid = 20,
	.sub_uids = { 0, 100000, 65536 },
	.sub_gids = { 0, 200000, 65536 },
};

/* What inside id `i` is on the host. */
static uint32_t host_id(const struct id_map *session, const struct id_map *outer, uint32_t i)
{
	struct id_map seen;
	struct err e = { 0 };
	uint32_t id = UINT32_MAX;

	assert_ok(idmap_seen_from_host(session, outer, &seen, &e));
	return ids_outside(&seen, i, &id) ? id : UINT32_MAX;
}

static void as_root_an_id_is_its_place_in_the_slice(void **state)
{
	struct inside in = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_ok(idmap_layout(IDS_ROOT, 0x70000000, &caller, &openhands, &in, &e));
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 0), 0x70000000);
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 1000), 0x70000000 + 1000);
	assert_int_equal(host_id(&in.session_gids, &in.outer_gids, 65534), 0x70000000 + 65534);
	assert_int_equal(in.init_uid, 0x70000000 + 65520);
	assert_int_equal(idmap_server_uid(&in), 0x70000000 + 65521);
	assert_int_equal(idmap_server_gid(&in), 0x70000000 + 65521);
	assert_int_equal(in.session_uid, 1000);
}

static void no_map_of_a_session_holds_the_executors_ids(void **state)
{
	static const enum ids_mode modes[] = { IDS_ROOT, IDS_SUBIDS };
	struct err e = { 0 };

	(void)state;
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		struct inside in = { 0 };

		assert_ok(idmap_layout(modes[m], 0x70010000, &caller, &openhands, &in, &e));
		for (uint32_t i = 0; i < IDS_SLICE; i++) {
			uint32_t id;

			if (!ids_outside(&in.session_uids, i, &id))
				continue;
			assert_true(id != in.init_uid && id != idmap_server_uid(&in));
			assert_true(ids_outside(&in.session_gids, i, &id));
			assert_true(id != in.init_gid && id != idmap_server_gid(&in));
		}
	}
}

static void with_subids_the_sessions_user_is_the_caller(void **state)
{
	struct inside in = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_ok(idmap_layout(IDS_SUBIDS, 0, &caller, &openhands, &in, &e));
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 1000), 501);
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 0), 100000);
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 999), 100999);
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 1001), 101000);
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 65534), 165533);
	assert_int_equal(host_id(&in.session_gids, &in.outer_gids, 0), 20);
	assert_int_equal(host_id(&in.session_gids, &in.outer_gids, 1), 200000);
	assert_int_equal(in.init_uid, IDS_INIT);
}

static void any_user_of_the_policy_can_be_the_caller(void **state)
{
	static const uid_t uids[] = { 0, 1, 999, 33333, IDS_WORKLOAD - 1 };
	struct err e = { 0 };

	(void)state;
	for (size_t u = 0; u < ARRAY_LEN(uids); u++) {
		struct policy_user user = { .name = (char *)"u", .uid = uids[u], .gid = uids[u] };
		unsigned char taken[IDS_SLICE] = { 0 };
		struct inside in = { 0 };

		assert_ok(idmap_layout(IDS_SUBIDS, 0, &caller, &user, &in, &e));
		for (uint32_t i = 0; i < IDS_WORKLOAD; i++) {
			uint32_t id = UINT32_MAX;

			assert_true(ids_outside(&in.session_uids, i, &id));
			assert_true(id < IDS_WORKLOAD);
			assert_int_equal(taken[id]++, 0); /* no two of them are one */
			assert_true((id == 0) == (i == uids[u]));
		}
	}
}

static void with_one_id_there_is_only_the_chosen_user(void **state)
{
	struct inside in = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_ok(idmap_layout(IDS_SINGLE, 0, &caller, &openhands, &in, &e));
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 1000), 501);
	assert_int_equal(host_id(&in.session_gids, &in.outer_gids, 0), 20);
	assert_int_equal(host_id(&in.session_uids, &in.outer_uids, 0), UINT32_MAX);
	assert_int_equal(in.init_uid, 0);
	assert_int_equal(idmap_server_uid(&in), 0);
}

static void a_short_range_says_what_is_needed(void **state)
{
	struct host host = caller;
	struct inside in = { 0 };
	struct err e = { 0 };

	(void)state;
	host.sub_gids.count = 1000;
	assert_int_equal(idmap_layout(IDS_SUBIDS, 0, &host, &openhands, &in, &e), -ERANGE);
	assert_non_null(strstr(e.text, "/etc/subgid gives you 1000 ids, a session needs 65535"));
	assert_int_equal(in.session_uids.n, 0);
}

static void an_id_of_the_executors_is_refused_for_a_user(void **state)
{
	struct policy_user user = { .name = (char *)"eve", .uid = IDS_INIT, .gid = 0 };
	struct inside in = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_refused(idmap_layout(IDS_ROOT, 0x70000000, &caller, &user, &in, &e), ERANGE,
		       "ids: user 'eve' has id 65520:0, a session has those below 65520");
}

static void a_slice_among_the_hosts_own_ids_is_refused(void **state)
{
	struct inside in = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(idmap_layout(IDS_ROOT, 0, &caller, &openhands, &in, &e), -ERANGE);
	assert_int_equal(idmap_layout(IDS_ROOT, UINT32_MAX - 1000, &caller, &openhands, &in, &e),
			 -ERANGE);
}

static void a_map_that_leaves_the_outer_one_is_refused(void **state)
{
	struct id_map session = map_of(1, (struct id_range) { 0, 10, 10 }, (struct id_range) { 0 },
				       (struct id_range) { 0 });
	struct id_map outer = map_of(1, (struct id_range) { 0, 5000, 15 }, (struct id_range) { 0 },
				     (struct id_range) { 0 });
	struct id_map seen;
	struct err e = { 0 };

	(void)state;
	assert_refused(idmap_seen_from_host(&session, &outer, &seen, &e), ERANGE,
		       "ids: 15 is not mapped around the session");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_text_has_a_line_a_range),
		cmocka_unit_test(the_largest_map_fits_its_text),
		cmocka_unit_test(a_text_too_small_is_cut_and_ended),
		cmocka_unit_test(an_id_outside_every_range_is_not_mapped),
		cmocka_unit_test(without_a_root_the_one_user_owns_what_is_made),
		cmocka_unit_test(as_root_an_id_is_its_place_in_the_slice),
		cmocka_unit_test(no_map_of_a_session_holds_the_executors_ids),
		cmocka_unit_test(with_subids_the_sessions_user_is_the_caller),
		cmocka_unit_test(any_user_of_the_policy_can_be_the_caller),
		cmocka_unit_test(with_one_id_there_is_only_the_chosen_user),
		cmocka_unit_test(a_short_range_says_what_is_needed),
		cmocka_unit_test(an_id_of_the_executors_is_refused_for_a_user),
		cmocka_unit_test(a_slice_among_the_hosts_own_ids_is_refused),
		cmocka_unit_test(a_map_that_leaves_the_outer_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
