/* SPDX-License-Identifier: MIT */
/* test_record.c - the record as JSON and back, hostile records, hostile journals. */
#include "session/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

#define HEAD "{\"version\":1,\"id\":\"0123456789ab\",\"ids\":\"root\""

static int parse(const char *text, struct record *r, struct err *e)
{
	return record_parse(text, strlen(text), r, e);
}

/* Refused with this text somewhere in the error, and nothing filled in. */
static void refused(const char *text, const char *because)
{
	struct record r = { .port = 99 };
	struct err e = { 0 };

	if (parse(text, &r, &e) >= 0)
		fail_msg("taken: %s", text);
	if (!strstr(e.text, because))
		fail_msg("'%s' does not say '%s'", e.text, because);
	assert_int_equal(r.port, 99);
}

static char *command[] = { "sh", "-c", "printf '\xff\x01%s' \"a\\b\"", "", NULL };
static char *root[] = { "cache/root-1", NULL };
static char *workspace[] = { "base/git", "base/tree\xc3\xa4\n", NULL };

/* With every field that a record can have. */
static const struct record whole = {
	.id = "0123456789ab",
	.created = "2030-01-02T03:04:05Z",
	.ids = IDS_SUBIDS,
	.slot = 4095,
	.session_uids = { .range = { { 0, 100000, 65536 }, { 65536, UINT32_MAX - 1, 1 } }, .n = 2 },
	.session_gids = { .range = { { 0, 1000, 1 } }, .n = 1 },
	.host_uid = 1000,
	.workspace_kind = "repo",
	.path = "/home/\xe9t\xe9/100%",
	.subdir = "src",
	.rev = "HEAD~1",
	.commit = "c0ffee",
	.repo_id = "00ff",
	.policy = "default",
	.policy_digest = "ab",
	.command = command,
	.user = "openhands",
	.layers_root = root,
	.layers_workspace = workspace,
	.group = { "/sys/fs/cgroup/a", "/sys/fs/cgroup/a/b" },
	.n_groups = 2,
	.link = "ohs12",
	.address = 0x0a000001,
	.port = 8000,
	.host_port = 65535,
	.key = "abcdef",
	.keep = true,
	.stays = true,
	.name = "my.box",
	.label = "{\"a\": \"%\n\"}",
	.persists = true,
	.paused = "frozen",
	.freezer = "/sys/fs/cgroup/freezer/ohsandbox/0123456789ab",
	.wakes = true,
	.rested = true,
	.init_pid = 4321,
	.init_start = INT64_MAX,
};

static void whole_record_comes_back_as_it_was(void **state)
{
	struct record back = { 0 };
	autobuf struct buf one = { 0 }, two = { 0 };
	struct err e = { 0 };

	(void)state;
	record_write(&whole, &one);
	assert_int_equal(buf_check(&one, &e), 0);
	if (record_parse(one.data, one.len, &back, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(back.path, whole.path);
	assert_string_equal(back.command[2], command[2]);
	assert_string_equal(back.command[3], "");
	assert_null(back.command[4]);
	assert_string_equal(back.layers_workspace[1], workspace[1]);
	assert_string_equal(back.group[1], "/sys/fs/cgroup/a/b");
	assert_memory_equal(&back.session_uids, &whole.session_uids, sizeof(whole.session_uids));
	assert_int_equal(back.slot, 4095);
	assert_true(back.keep && back.stays);
	record_write(&back, &two);
	assert_string_equal(one.data, two.data);
	record_clear(&back);
}

static void copy_shares_nothing_with_the_original(void **state)
{
	struct record r = { 0 }, copy = { 0 };
	autobuf struct buf one = { 0 }, two = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		parse(HEAD ",\"command\":[\"a\"],\"groups\":[\"/x\"],\"path\":\"/p\"}", &r, &e), 0);
	record_write(&r, &one);
	assert_int_equal(record_copy(&r, &copy, &e), 0);
	assert_ptr_not_equal(copy.path, r.path);
	record_clear(&r);
	record_write(&copy, &two);
	assert_string_equal(one.data, two.data);
	record_clear(&copy);
}

static void missing_members_are_empty(void **state)
{
	struct record r = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(parse(HEAD "}", &r, &e), 0);
	assert_int_equal(r.slot, SESSION_NO_SLOT);
	assert_int_equal(r.n_groups, 0);
	assert_null(r.path);
	assert_string_equal(r.link, "");
	record_clear(&r);
}

static void hostile_record_is_refused_by_name(void **state)
{
	(void)state;
	refused("", "record.json");
	refused("[]", "not an object");
	refused("{}", "version");
	refused("{\"version\":2,\"id\":\"0123456789ab\",\"ids\":\"root\"}", "version");
	refused("{\"version\":1,\"id\":\"../../../etc\",\"ids\":\"root\"}", "id");
	refused("{\"version\":1,\"id\":\"0123456789abc\",\"ids\":\"root\"}", "id");
	refused("{\"version\":1,\"id\":\"0123456789ab\",\"ids\":\"god\"}", "god");
	refused(HEAD ",\"ids\":\"root\"}", "ids");
	refused(HEAD ",\"memroy\":1}", "memroy");
	refused(HEAD ",\"slot\":-1}", "slot");
	refused(HEAD ",\"port\":65536}", "port");
	refused(HEAD ",\"init_pid\":4294967297}", "init_pid");
	refused(HEAD ",\"link\":\"a/b\"}", "link");
	refused(HEAD ",\"link\":\"abcdefghijklmnop\"}", "link");
	refused(HEAD ",\"key\":\"xyz\"}", "key");
	refused(HEAD
		",\"key\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0\"}",
		"key");
	refused(HEAD ",\"groups\":[\"relative\"]}", "groups");
	refused(HEAD ",\"groups\":[\"/sys/fs/cgroup/../../..\"]}", "groups");
	refused(HEAD
		",\"groups\":[\"/1\",\"/2\",\"/3\",\"/4\",\"/5\",\"/6\",\"/7\",\"/8\",\"/9\"]}",
		"groups");
	refused(HEAD ",\"session_uids\":[[0,0,0]]}", "empty");
	refused(HEAD ",\"session_uids\":[[0,4294967295,2]]}", "last id");
	refused(HEAD ",\"session_gids\":[[0,1]]}", "range");
	refused(HEAD ",\"session_gids\":[[0,-1,1]]}", "32 bits");
	refused(HEAD ",\"session_gids\":{\"a\":1}}", "list");
	refused(HEAD ",\"path\":\"%zz\"}", "%zz");
	refused(HEAD ",\"path\":\"%00\"}", "%00");
	refused(HEAD ",\"path\":\"%\"}", "%");
	refused(HEAD ",\"command\":[1]}", "command");
	refused(HEAD ",\"keep\":1}", "keep");
	refused(HEAD ",\"name\":\"a/b\"}", "name");
	refused(HEAD ",\"paused\":\"asleep\"}", "asleep");
	refused(HEAD ",\"freezer\":\"relative\"}", "freezer");
	refused(HEAD ",\"freezer\":\"/a/../b\"}", "freezer");
	refused(HEAD ",\"path\":\"a\\u0000b\"}", "path");
}

static int journal(struct record *r, const char *text, struct err *e)
{
	return record_apply_journal(r, text, strlen(text), e);
}

static void later_line_wins_and_an_empty_or_torn_one_is_ignored(void **state)
{
	struct record r = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		journal(&r,
			"\ninit 5 6\nhost_port 1\ninit 7 8\n\ncommit ab\ncommit cd\nhost_port 2",
			&e),
		0);
	assert_int_equal(r.init_pid, 7);
	assert_true(r.init_start == 8);
	assert_int_equal(r.host_port, 1);
	assert_string_equal(r.commit, "cd");
	record_clear(&r);
}

static void apply(struct record *r, const char *text)
{
	struct err e = { 0 };

	if (record_apply_journal(r, text, strlen(text), &e) < 0)
		fail_msg("'%s': %s", text, e.text);
}

static void journal_tells_how_a_session_is_paused(void **state)
{
	struct record r = { .slot = SESSION_NO_SLOT };

	(void)state;
	apply(&r, "persists\npaused frozen\nfreezer /a/b\n");
	assert_true(r.persists);
	assert_string_equal(r.paused, RECORD_FROZEN);
	assert_string_equal(r.freezer, "/a/b");
	apply(&r, "paused disk\nrested\n");
	assert_string_equal(r.paused, RECORD_ON_DISK);
	assert_true(r.rested);
	apply(&r, "resumes\n");
	assert_false(r.rested);
	assert_string_equal(r.paused, RECORD_ON_DISK);
	apply(&r, "resumed\n");
	assert_null(r.paused);
	apply(&r, "paused disk\nrested\nstops\n");
	assert_null(r.paused);
	assert_false(r.persists || r.rested);
	apply(&r, "paused disk\nwakes\nrested\nresumes\n");
	assert_true(r.wakes);
	apply(&r, "paused disk\n");
	assert_false(r.wakes);
	apply(&r, "wakes\nresumed\n");
	assert_false(r.wakes);
	apply(&r, "paused disk\nwakes\nstops\n");
	assert_false(r.wakes);
	record_clear(&r);
}

static void journal_tells_whose_a_session_has_become(void **state)
{
	struct record r = { .slot = SESSION_NO_SLOT };

	(void)state;
	apply(&r, "ready\npersists\nname a.b-c_1\n");
	assert_string_equal(r.name, "a.b-c_1");
	assert_true(r.persists);
	record_clear(&r);
}

static void hostile_journal_is_refused_by_line(void **state)
{
	static const char *const bad[] = {
		" \n",
		"exec rm\n",
		"init\n",
		"init 5\n",
		"init 5 \n",
		"init -5 6\n",
		"init 0 6\n",
		"init 5 6 7\n",
		"init 99999999999 1\n",
		"host_port 70000\n",
		"host_port\n",
		"keep 1\n",
		"stage\n",
		"root_layer\n",
		"root_layer \n",
		"init  5 6\n",
		"name\n",
		"name ..\n",
		"name a/b\n",
		"name a b\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct record r = { 0 };
		struct err e = { 0 };

		if (journal(&r, bad[i], &e) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_non_null(strstr(e.text, "line 1"));
		record_clear(&r);
	}
}

static void journal_with_a_zero_byte_is_refused(void **state)
{
	struct record r = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(record_apply_journal(&r, "stage a\0b\n", 10, &e), -EINVAL);
	assert_int_equal(record_apply_journal(&r, NULL, 0, &e), 0);
}

static void journal_cannot_pile_up_layers_without_end(void **state)
{
	autobuf struct buf text = { 0 };
	struct record r = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < MOUNT_LOWERS_MAX; i++)
		buf_puts(&text, "root_layer x\n");
	assert_int_equal(record_apply_journal(&r, text.data, text.len, &e), 0);
	assert_int_equal(journal(&r, "root_layer x\n", &e), -EINVAL);
	record_clear(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_record_comes_back_as_it_was),
		cmocka_unit_test(copy_shares_nothing_with_the_original),
		cmocka_unit_test(missing_members_are_empty),
		cmocka_unit_test(hostile_record_is_refused_by_name),
		cmocka_unit_test(later_line_wins_and_an_empty_or_torn_one_is_ignored),
		cmocka_unit_test(journal_tells_how_a_session_is_paused),
		cmocka_unit_test(journal_tells_whose_a_session_has_become),
		cmocka_unit_test(hostile_journal_is_refused_by_line),
		cmocka_unit_test(journal_with_a_zero_byte_is_refused),
		cmocka_unit_test(journal_cannot_pile_up_layers_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
