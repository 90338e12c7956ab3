/* SPDX-License-Identifier: MIT */
/* test_session.c - the state directory, a session's directory, its locks, its journal. */
#include "session/session.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/name.h"
#include "session/record.h"
#include "unit.h"

#define ID "0123456789ab"

struct place {
	char path[64];
	int state;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct err e = { 0 };

	(void)snprintf(p->path, sizeof(p->path), "/tmp/test-session-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->state = state_open(p->path, &e);
	assert_true(p->state >= 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	(void)close(p->state);
	assert_int_equal(fs_remove_tree(AT_FDCWD, p->path, &e), 0);
	free(p);
	return 0;
}

static struct session *make(struct place *p, const char *id)
{
	struct record r = { .slot = SESSION_NO_SLOT, .ids = IDS_SINGLE };
	struct session *s = NULL;
	struct err e = { 0 };

	(void)snprintf(r.id, sizeof(r.id), "%s", id);
	assert_int_equal(session_new(p->state, &r, &s, &e), 0);
	return s;
}

static void state_directory_others_may_enter_is_refused_with_the_cure(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	assert_int_equal(chmod(p->path, 0750), 0);
	assert_int_equal(state_open(p->path, &e), -EPERM);
	assert_non_null(strstr(e.text, "chmod 700"));
	assert_non_null(strstr(e.text, p->path));
	assert_int_equal(chmod(p->path, 01700), 0);
	assert_int_equal(state_open(p->path, &e), -EPERM);
}

static void state_directory_of_another_user_is_refused(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(p->path, 12345, 12345), 0);
	assert_int_equal(state_open(p->path, &e), -EPERM);
	assert_non_null(strstr(e.text, "12345"));
	assert_int_equal(chown(p->path, 0, 0), 0);
}

static void missing_state_directory_is_made_private_whatever_the_umask(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	char path[100];
	struct stat st;
	mode_t old = umask(0377);
	int fd;

	(void)snprintf(path, sizeof(path), "%s/x", p->path);
	fd = state_open(path, &e);
	(void)umask(old);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	(void)close(fd);
}

static void state_file_instead_of_a_directory_is_refused(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	char path[100];

	(void)snprintf(path, sizeof(path), "%s/file", p->path);
	assert_int_equal(io_replace_file(p->state, "file", "", 0, 0600, &e), 0);
	assert_int_equal(state_open(path, &e), -ENOTDIR);
}

static void default_path_is_the_named_one_first(void **state)
{
	struct err e = { 0 };
	autofree char *path = NULL;

	(void)state;
	assert_int_equal(setenv("OHS_STATE_DIR", "/some/where", 1), 0);
	assert_int_equal(state_default_path(&path, &e), 0);
	assert_string_equal(path, "/some/where");
	assert_int_equal(unsetenv("OHS_STATE_DIR"), 0);
}

static void session_lives_while_its_lock_is_held_and_no_longer(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID), *again = NULL;
	struct err e = { 0 };

	assert_int_equal(session_is_alive(p->state, ID, &e), 1);
	assert_int_equal(session_open(p->state, ID, true, &again, &e), -EBUSY);
	assert_int_equal(session_open(p->state, ID, false, &again, &e), 0);
	assert_int_equal(session_lock(again, false, &e), -EBUSY);
	session_close(s);
	assert_int_equal(session_is_alive(p->state, ID, &e), 0);
	assert_int_equal(session_lock(again, true, &e), 0);
	session_close(again);
}

/* A child that has inherited all, and ends when the pipe's other end is closed. */
static pid_t heir(int *hold)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		char c;

		(void)close(ends[1]);
		_exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
	}
	(void)close(ends[0]);
	*hold = ends[1];
	return child;
}

static void session_handed_over_lives_by_the_process_that_inherited_its_lock(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID);
	struct err e = { 0 };
	int hold, status;
	pid_t child = heir(&hold);

	assert_int_equal(session_hand_over(s, &e), 0);
	session_close(s);
	assert_int_equal(session_is_alive(p->state, ID, &e), 1);
	(void)close(hold);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(session_is_alive(p->state, ID, &e), 0);
}

static void session_dies_with_its_supervisor_but_is_not_free_before_its_processes_end(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID), *again = NULL;
	struct err e = { 0 };
	int hold, status;
	pid_t child = heir(&hold);

	session_close(s);
	assert_int_equal(session_is_alive(p->state, ID, &e), 0);
	assert_int_equal(session_open(p->state, ID, false, &again, &e), 0);
	assert_int_equal(session_lock(again, false, &e), -EBUSY);
	(void)close(hold);
	assert_int_equal(session_lock(again, true, &e), 0);
	assert_true(session_exists(again));
	assert_int_equal(waitpid(child, &status, 0), child);
	session_close(again);
}

static void asking_whether_a_session_lives_makes_nothing(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	assert_int_equal(session_is_alive(p->state, ID, &e), 0);
	assert_int_equal(faccessat(p->state, "sessions/" ID, F_OK, 0), -1);
	assert_int_equal(session_is_alive(p->state, "../../../etc", &e), -EINVAL);
}

static void unambiguous_prefix_finds_and_an_ambiguous_one_names_both(void **state)
{
	struct place *p = *state;
	struct session *found = NULL;
	struct err e = { 0 };

	session_close(make(p, "aaaabbbbcccc"));
	session_close(make(p, "aaaabbbbdddd"));
	assert_int_equal(session_open(p->state, "aaaabbbbd", false, &found, &e), 0);
	assert_string_equal(found->record.id, "aaaabbbbdddd");
	session_close(found);
	assert_int_equal(session_open(p->state, "aaaa", false, &found, &e), -ENOTUNIQ);
	assert_non_null(strstr(e.text, "aaaabbbbcccc"));
	assert_non_null(strstr(e.text, "aaaabbbbdddd"));
	assert_int_equal(session_open(p->state, "b", false, &found, &e), -ENOENT);
	assert_int_equal(session_open(p->state, "", false, &found, &e), -EINVAL);
	assert_int_equal(session_open(p->state, "..", false, &found, &e), -EINVAL);
}

static void id_that_is_taken_is_refused_and_what_it_has_stays(void **state)
{
	struct place *p = *state;
	struct record r = { .slot = SESSION_NO_SLOT, .id = ID };
	struct session *s = make(p, ID), *second = NULL;
	struct err e = { 0 };

	assert_int_equal(session_new(p->state, &r, &second, &e), -EEXIST);
	assert_int_equal(session_is_alive(p->state, ID, &e), 1);
	session_close(s);
}

static void notes_are_read_back_by_who_opens_the_session(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID), *again = NULL;
	struct err e = { 0 };

	assert_int_equal(session_note(s, &e, "init %d %llu", 77, 12345678901ULL), 0);
	assert_int_equal(session_note(s, &e, "workspace_layer %s", "base/a b/tree"), 0);
	assert_int_equal(session_note(s, &e, "root_layer %s", "cache/root-1"), 0);
	assert_int_equal(session_note(s, &e, "host_port 4242"), 0);
	assert_int_equal(session_note(s, &e, "stage net"), 0);
	assert_int_equal(s->record.init_pid, 77);
	assert_int_equal(session_open(p->state, ID, false, &again, &e), 0);
	assert_int_equal(again->record.init_pid, 77);
	assert_true(again->record.init_start == 12345678901ULL);
	assert_int_equal(again->record.host_port, 4242);
	assert_string_equal(again->record.layers_workspace[0], "base/a b/tree");
	assert_null(again->record.layers_workspace[1]);
	assert_string_equal(again->record.layers_root[0], "cache/root-1");
	session_close(again);
	session_close(s);
}

static void note_of_two_lines_or_of_no_known_word_is_refused_and_not_written(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID);
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(session_note(s, &e, "stage a\nkeep"), -EINVAL);
	assert_int_equal(session_note(s, &e, "stagecoach"), -EINVAL);
	assert_int_equal(session_note(s, &e, "host_port 65536"), -ERANGE);
	assert_int_equal(fstatat(s->dir, "journal", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	session_close(s);
}

static void torn_line_is_mended_by_who_takes_the_session_over(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID), *again = NULL;
	struct err e = { 0 };

	assert_int_equal(write(s->journal, "host_port 7\nhost_por", 20), 20);
	session_close(s);
	assert_int_equal(session_open(p->state, ID, true, &again, &e), 0);
	assert_int_equal(again->record.host_port, 7);
	assert_int_equal(session_note(again, &e, "keep"), 0);
	session_close(again);
	assert_int_equal(session_open(p->state, ID, false, &again, &e), 0);
	assert_true(again->record.keep);
	session_close(again);
}

static void saved_record_is_what_the_next_reader_sees(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID), *again = NULL;
	struct err e = { 0 };

	s->record.path = str_dup("/r\xff\n%", &e);
	assert_int_equal(session_save(s, &e), 0);
	assert_int_equal(session_open(p->state, ID, false, &again, &e), 0);
	assert_string_equal(again->record.path, "/r\xff\n%");
	session_close(again);
	session_close(s);
}

static int count_one(const char *id, void *arg, struct err *e)
{
	(void)e;
	assert_int_equal(strlen(id), 12);
	(*(int *)arg)++;
	return 0;
}

static int stop_at_once(const char *id, void *arg, struct err *e)
{
	(*(int *)arg)++;
	return err_code(e, ECANCELED, "stop at %s", id);
}

static void each_session_is_named_once_until_a_negative_answer(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	int n = 0;

	assert_int_equal(session_each(p->state, count_one, &n, &e), 0);
	assert_int_equal(n, 0);
	session_close(make(p, "aaaaaaaaaaaa"));
	session_close(make(p, "bbbbbbbbbbbb"));
	assert_int_equal(session_each(p->state, count_one, &n, &e), 0);
	assert_int_equal(n, 2);
	n = 0;
	assert_int_equal(session_each(p->state, stop_at_once, &n, &e), -ECANCELED);
	assert_int_equal(n, 1);
}

static void directory_without_a_record_is_swept_and_a_session_is_not(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	int n = 0;

	session_close(make(p, "aaaaaaaaaaaa"));
	assert_int_equal(mkdirat(p->state, "sessions/" ID, 0700), 0);
	assert_int_equal(io_replace_file(p->state, "sessions/" ID "/lock", "", 0, 0600, &e), 0);
	assert_int_equal(session_each(p->state, count_one, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(session_sweep_unborn(p->state, &e), 0);
	assert_int_equal(faccessat(p->state, "sessions/" ID, F_OK, 0), -1);
	assert_int_equal(faccessat(p->state, "sessions/aaaaaaaaaaaa", F_OK, 0), 0);
}

static void record_of_another_session_is_refused(void **state)
{
	struct place *p = *state;
	struct session *s = NULL;
	struct err e = { 0 };

	session_close(make(p, "aaaaaaaaaaaa"));
	assert_int_equal(
		renameat(p->state, "sessions/aaaaaaaaaaaa", p->state, "sessions/bbbbbbbbbbbb"), 0);
	assert_int_equal(session_open(p->state, "bbbb", false, &s, &e), -EINVAL);
}

/* In a child, so that the small file system goes with its mount namespace. */
static int on_a_full_disk(const char *path)
{
	struct record r = { .slot = SESSION_NO_SLOT, .id = ID };
	struct session *s = NULL;
	struct err e = { 0 };
	int state;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("small", path, "tmpfs", 0, "nr_inodes=4,mode=0700") < 0)
		return 77;
	state = state_open(path, &e);
	if (session_new(state, &r, &s, &e) != -ENOSPC)
		return 1;
	if (!strstr(e.text, path) || !strstr(e.text, "OHS_STATE_DIR"))
		return 2;
	return faccessat(state, "sessions/" ID, F_OK, 0) == 0 ? 3 : 0;
}

static void full_disk_is_named_and_nothing_stays(void **state)
{
	struct place *p = *state;
	int status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0)
		_exit(on_a_full_disk(p->path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* In a child, since a lock of our process does not keep us ourselves out. */
static int asked_elsewhere(const struct place *p, int (*ask)(int, const char *, struct err *))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct err e = { 0 };

		_exit(ask(p->state, ID, &e));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void one_that_is_brought_back_is_never_taken_for_dead(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID);
	struct err e = { 0 };

	session_close(s);
	assert_ok(session_open(p->state, ID, true, &s, &e));
	assert_ok(session_enliven(s, &e));
	assert_int_equal(fcntl(s->lock, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(asked_elsewhere(p, session_is_supervised), 1);
	assert_ok(session_hand_over(s, &e));
	assert_int_equal(asked_elsewhere(p, session_is_alive), 1);
	session_close(s);
	assert_int_equal(asked_elsewhere(p, session_is_alive), 0);
}

static void who_claims_it_is_alone_and_reads_it_again(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID), *a = NULL, *b = NULL;
	struct err e = { 0 };

	session_close(s);
	assert_ok(session_open(p->state, ID, false, &a, &e));
	assert_ok(session_open(p->state, ID, false, &b, &e));
	assert_ok(session_claim(a, true, &e));
	assert_ok(session_note(a, &e, "paused disk"));
	assert_int_equal(session_claim(b, false, &e), -EBUSY);
	assert_null(b->record.paused);
	session_close(a);
	assert_ok(session_claim(b, false, &e));
	assert_string_equal(b->record.paused, RECORD_ON_DISK);
	session_close(b);
}

static struct session *make_named(struct place *p, const char *id, const char *name)
{
	struct record r = { .slot = SESSION_NO_SLOT, .ids = IDS_SINGLE, .name = (char *)name };
	struct session *s = NULL;
	struct err e = { 0 };

	(void)snprintf(r.id, sizeof(r.id), "%s", id);
	assert_ok(session_new(p->state, &r, &s, &e));
	return s;
}

static void name_is_one_sessions_until_it_is_given_back(void **state)
{
	struct place *p = *state;
	struct session *a = make_named(p, ID, "abc"), *b = make_named(p, "abc456789abc", "abc");
	struct session *found = NULL;
	struct err e = { 0 };

	assert_ok(name_take(a, &e));
	assert_ok(session_note(a, &e, "paused disk"));
	assert_refused(name_take(b, &e), EEXIST, "the name 'abc' is session " ID "'s");
	/* A name comes before the beginning of an id. */
	assert_ok(session_open(p->state, "abc", false, &found, &e));
	assert_string_equal(found->record.id, ID);
	session_close(found);
	name_drop(b);
	assert_ok(session_open(p->state, "abc", false, &found, &e));
	assert_string_equal(found->record.id, ID);
	session_close(found);
	name_drop(a);
	assert_ok(name_take(b, &e));
	assert_ok(session_open(p->state, "abc", false, &found, &e));
	assert_string_equal(found->record.id, "abc456789abc");
	session_close(found);
	session_close(a);
	session_close(b);
}

static void link_that_names_nobody_counts_for_nothing(void **state)
{
	struct place *p = *state;
	struct session *s = make_named(p, ID, NULL), *found = NULL;
	struct err e = { 0 };

	assert_int_equal(mkdirat(p->state, "names", 0700), 0);
	assert_int_equal(symlinkat(ID, p->state, "names/other"), 0);
	assert_int_equal(symlinkat("../../../../etc", p->state, "names/out"), 0);
	assert_refused(session_open(p->state, "other", false, &found, &e), ENOENT,
		       "no session 'other': 'ohsandbox list' shows them");
	assert_int_equal(session_open(p->state, "out", false, &found, &e), -ENOENT);
	assert_int_equal(session_open(p->state, "../names", false, &found, &e), -EINVAL);
	session_close(s);
}

static void request_does_not_outlive_its_session(void **state)
{
	struct place *p = *state;
	struct session *s = make(p, ID);
	autobuf struct buf text = { 0 }, read = { 0 };
	char bytes[64] = "";
	struct err e = { 0 };
	int fd;

	assert_false(session_has_request(s));
	buf_puts(&text, "{\"env\":[\"SECRET=1\"]}");
	assert_ok(session_keep_request(s, &text, &e));
	assert_true(session_has_request(s));
	assert_ok(session_read_request(s, &read, &e));
	assert_string_equal(buf_str(&read), buf_str(&text));
	fd = openat(s->dir, "request.json", O_RDONLY);
	assert_true(fd >= 0);
	assert_ok(session_retire(s, &e));
	assert_int_equal(pread(fd, bytes, sizeof(bytes) - 1, 0), 1);
	assert_string_equal(bytes, "\n");
	(void)close(fd);
	session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(state_directory_others_may_enter_is_refused_with_the_cure),
		TEST(state_directory_of_another_user_is_refused),
		TEST(missing_state_directory_is_made_private_whatever_the_umask),
		TEST(state_file_instead_of_a_directory_is_refused),
		TEST(default_path_is_the_named_one_first),
		TEST(session_lives_while_its_lock_is_held_and_no_longer),
		TEST(session_handed_over_lives_by_the_process_that_inherited_its_lock),
		TEST(session_dies_with_its_supervisor_but_is_not_free_before_its_processes_end),
		TEST(asking_whether_a_session_lives_makes_nothing),
		TEST(unambiguous_prefix_finds_and_an_ambiguous_one_names_both),
		TEST(id_that_is_taken_is_refused_and_what_it_has_stays),
		TEST(notes_are_read_back_by_who_opens_the_session),
		TEST(note_of_two_lines_or_of_no_known_word_is_refused_and_not_written),
		TEST(torn_line_is_mended_by_who_takes_the_session_over),
		TEST(saved_record_is_what_the_next_reader_sees),
		TEST(each_session_is_named_once_until_a_negative_answer),
		TEST(directory_without_a_record_is_swept_and_a_session_is_not),
		TEST(record_of_another_session_is_refused),
		TEST(full_disk_is_named_and_nothing_stays),
		TEST(one_that_is_brought_back_is_never_taken_for_dead),
		TEST(who_claims_it_is_alone_and_reads_it_again),
		TEST(name_is_one_sessions_until_it_is_given_back),
		TEST(link_that_names_nobody_counts_for_nothing),
		TEST(request_does_not_outlive_its_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
