/* SPDX-License-Identifier: MIT */
/* test_changes.c - changes read from upper layers that the kernel made: real overlays, mounted in a
 * mount namespace of this process alone. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/changes_parts.h"
#include "session/record.h"

#define ID "0123456789ab"

struct place {
	char path[64];
	struct session *session;
};

static bool may_mount(void)
{
	return geteuid() == 0;
}

/* A shell script in a directory of the place. */
static void sh(const struct place *p, const char *dir, const char *script)
{
	autofree char *command = NULL;
	struct err e = { 0 };

	command = str_fmt(&e, "set -e; cd %s/%s; %s", p->path, dir, script);
	assert_non_null(command);
	if (system(command) != 0)
		fail_msg("%s", command);
}

static char *join(const struct place *p, const char *name)
{
	struct err e = { 0 };
	char *text = str_fmt(&e, "%s/%s", p->path, name);

	assert_non_null(text);
	return text;
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct record r = { .id = ID, .slot = SESSION_NO_SLOT, .ids = IDS_ROOT };
	struct err e = { 0 };
	int fd;

	assert_non_null(p);
	(void)snprintf(p->path, sizeof(p->path), "/tmp/test-changes-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	fd = state_open(p->path, &e);
	assert_true(fd >= 0);
	r.workspace_kind = str_dup("repo", &e);
	assert_int_equal(session_new(fd, &r, &p->session, &e), 0);
	free(r.workspace_kind);
	(void)close(fd);
	sh(p, ".",
	   "mkdir -p l1 l2 m sessions/" ID "/layers/workspace/upper sessions/" ID
	   "/layers/workspace/work;"
	   "ln -s sessions/" ID "/layers/workspace/upper upper");
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	session_close(p->session);
	if (fs_remove_tree(AT_FDCWD, p->path, &e) < 0)
		fail_msg("%s", e.text);
	free(p);
	return 0;
}

/* Do `script` in an overlay over l1 (over l2). */
static void inside(struct place *p, bool two, const char *script)
{
	struct err e = { 0 };
	autofree char *at = join(p, "m");
	autofree char *options = str_fmt(
		&e,
		"lowerdir=%s/l1%s%s%s,upperdir=%s/sessions/" ID "/layers/workspace/upper,"
		"workdir=%s/sessions/" ID "/layers/workspace/work,redirect_dir=on",
		p->path, two ? ":" : "", two ? p->path : "", two ? "/l2" : "", p->path, p->path);

	if (mount("overlay", at, "overlay", 0, options) < 0)
		fail_msg("mount: %s", strerror(errno));
	sh(p, "m", script);
	assert_int_equal(umount(at), 0);
}

static void layers(struct place *p, bool two)
{
	struct err e = { 0 };

	assert_int_equal(session_note(p->session, &e, "workspace_layer l1"), 0);
	if (two)
		assert_int_equal(session_note(p->session, &e, "workspace_layer l2"), 0);
}

static int list_one(const struct change *c, void *arg)
{
	buf_printf(arg, "%c %s\n", c->kind, c->path);
	return 0;
}

static void shows(struct place *p, const char *expected)
{
	autobuf struct buf got = { 0 };
	struct change_counts n = { 0 };
	struct err e = { 0 };
	size_t lines = 0;

	if (changes_read(p->session, 0, list_one, &got, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(buf_str(&got), expected);
	assert_int_equal(changes_count(p->session, &n, &e), 0);
	for (const char *c = expected; *c; c++)
		lines += *c == '\n' && (!c[1] || c[2] == ' '); /* a name may hold a newline */
	assert_int_equal(n.added + n.changed + n.deleted, lines);
}

#define NEEDS_MOUNTS()            \
	do {                      \
		if (!may_mount()) \
			skip();   \
	} while (0)

static void added_changed_and_deleted_files_are_told_in_the_order_of_paths(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1",
	   "mkdir -p a/deep b; echo 1 >a/deep/x; echo 2 >a/y; echo 3 >b/z; echo 4 >top; echo same >same");
	layers(p, false);
	inside(p, false,
	       "echo new >a/deep/x; rm a/y; echo n >a.c; echo n >a0; rm -r b; echo more >>top; mkdir empty");
	shows(p, "A a.c\nM a/deep/x\nD a/y\nA a0\nD b/z\nM top\n");
}

static void touched_file_that_reads_as_before_is_no_change(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "echo 1 >x; mkdir d; echo 2 >d/y; ln -s x l");
	layers(p, false);
	inside(p, false,
	       "touch x d/y; chmod 700 d; echo 1 >x; touch -h l; chown 12:13 d/y; mv x t; mv t x");
	shows(p, "");
}

static void mode_alone_is_a_change(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "echo 1 >x");
	layers(p, false);
	inside(p, false, "chmod 755 x");
	shows(p, "M x\n");
}

static void renamed_directory_is_its_files_deleted_and_added(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir -p src/deep; echo 1 >src/a; echo 2 >src/deep/b");
	layers(p, false);
	inside(p, false, "mv src lib");
	assert_true(faccessat(AT_FDCWD, p->path, F_OK, 0) == 0);
	shows(p, "A lib/a\nA lib/deep/b\nD src/a\nD src/deep/b\n");
}

static void directory_renamed_twice_and_moved_deeper_is_followed(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1",
	   "mkdir -p src/in/deep q/w; echo 1 >src/a; echo 2 >src/in/deep/b; echo 3 >q/w/f");
	layers(p, false);
	inside(p, false,
	       "mv src/in q/w/moved; mv q/w/moved/deep q/w/moved/deeper; mv q r; echo new >r/w/moved/deeper/c;"
	       "rm r/w/moved/deeper/b; echo 9 >src/a");
	shows(p, "D q/w/f\nA r/w/f\nA r/w/moved/deeper/c\nM src/a\nD src/in/deep/b\n");
}

static void two_directories_that_changed_places_are_compared_whole(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1",
	   "mkdir a b; echo 1 >a/same; echo 1 >b/same; echo 2 >a/x; echo 3 >b/x; echo 4 >a/only");
	layers(p, false);
	inside(p, false, "mv a t; mv b a; mv t b");
	shows(p, "D a/only\nM a/x\nA b/only\nM b/x\n");
}

static void directory_made_anew_hides_what_was_there(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir -p d/sub; echo 1 >d/old; echo 2 >d/sub/old; echo 3 >d/kept");
	layers(p, false);
	inside(p, false, "rm -r d; mkdir d; echo 3 >d/kept; echo 4 >d/new");
	shows(p, "A d/new\nD d/old\nD d/sub/old\n");
}

static void file_in_place_of_a_directory_and_the_other_way_round(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir -p d/e; echo 1 >d/e/x; echo 2 >d/y; echo 3 >f; echo 4 >f.c");
	layers(p, false);
	inside(p, false, "rm -r d; echo file >d; rm f; mkdir f; echo in >f/x; echo 5 >f.c");
	shows(p, "A d\nD d/e/x\nD d/y\nD f\nM f.c\nA f/x\n");
}

static void links_and_special_files_are_told(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "ln -s a l; ln -s a same; echo 1 >f; mknod dev c 1 3; mkfifo pipe");
	layers(p, false);
	inside(p, false,
	       "ln -sf b l; rm same; ln -s a same; rm f; ln -s x f; rm dev; mknod dev c 1 5; mkfifo new;"
	       "rm pipe; mkfifo pipe; chmod 644 pipe");
	shows(p, "M dev\nM f\nM l\nA new\n");
}

static void file_deleted_that_never_was_below_is_no_change(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "echo 1 >x");
	layers(p, false);
	inside(p, false, "echo 1 >new; rm new; mkdir d; echo 2 >d/f; rm -r d; mv x y; mv y x");
	shows(p, "");
}

static void private_git_directory_is_left_out(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir -p .git sub/.git; echo 1 >.git/HEAD; echo 1 >sub/.git/HEAD");
	layers(p, false);
	inside(p, false,
	       "echo 2 >.git/HEAD; echo 3 >.git/new; echo 2 >sub/.git/HEAD; echo 1 >.gitignore");
	shows(p, "A .gitignore\nM sub/.git/HEAD\n");
}

static void several_lowers_with_whiteouts_of_their_own_are_seen_as_one(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l2",
	   "mkdir -p d gone; echo 1 >d/x; echo 2 >d/y; echo 3 >gone/z; echo 4 >whited; echo 5 >kept");
	sh(p, "l1", "mkdir -p d; echo 9 >d/x; mknod gone c 0 0; mknod whited c 0 0");
	layers(p, true);
	inside(p, true,
	       "rm d/y; echo 9 >d/x; echo new >whited; mkdir gone; echo 1 >gone/z; rm kept");
	shows(p, "D d/y\nA gone/z\nD kept\nA whited\n");
}

static void redirect_in_a_lower_layer_is_followed_too(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	/* l1 is what an earlier session left over l2: it renamed a to b. */
	sh(p, "l2", "mkdir -p a/deep; echo 1 >a/deep/x; echo 2 >a/y");
	sh(p, ".",
	   "mkdir -p w; mount -t overlay o -o lowerdir=l2,upperdir=l1,workdir=w,redirect_dir=on m;"
	   "mv m/a m/b; echo 3 >m/b/deep/new; umount m; rm -r w");
	layers(p, true);
	inside(p, true, "rm b/y; mv b/deep c; echo 7 >c/x");
	shows(p, "D b/deep/new\nD b/deep/x\nD b/y\nA c/new\nA c/x\n");
}

static void names_may_hold_any_byte(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	layers(p, false);
	inside(p, false,
	       "printf x > \"$(printf 'a\\nb\\377c')\"; printf x > ' lead'; printf x >-rf");
	shows(p, "A  lead\nA -rf\nA a\nb\377c\n");
}

static void directories_shut_against_everybody_are_read(void **state)
{
	struct place *p = *state;

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir d; echo 1 >d/x");
	layers(p, false);
	inside(p, false, "echo 2 >d/x; chmod 000 d/x; mkdir s; echo 1 >s/f; chmod 000 d s");
	shows(p, "M d/x\nA s/f\n");
}

static void tree_deeper_than_is_looked_is_told_of_itself_and_harms_nothing(void **state)
{
	struct place *p = *state;
	autobuf struct buf got = { 0 };
	struct err e = { 0 };
	autoclose int at = -1;

	if (!may_mount())
		skip();
	layers(p, false);
	sh(p, "upper", "mkdir -p z");
	at = openat(p->session->dir, "layers/workspace/upper/z", O_PATH | O_DIRECTORY);
	for (int i = 0; i < 9000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "dd", 0755), 0);
		next = openat(at, "dd", O_PATH | O_DIRECTORY);
		(void)close(at);
		at = next;
	}
	if (changes_read(p->session, 0, list_one, &got, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(got.len > CHANGES_PATH_MAX);
	assert_true(str_starts(got.data, "A z/dd/dd/"));
	assert_non_null(memchr(got.data, '\n', got.len));
	assert_ptr_equal(memchr(got.data, '\n', got.len), got.data + got.len - 1);
}

static void redirect_that_leads_out_of_its_layer_is_refused(void **state)
{
	static const char *const bad[] = { "../../..", "/../etc", "a/b", "/",
					   "",	       "/a//b",	  ".",	 "/a/." };
	struct place *p = *state;
	autofree char *dir = join(p, "upper/d");

	NEEDS_MOUNTS();
	layers(p, false);
	sh(p, "upper", "mkdir d");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		autobuf struct buf got = { 0 };
		struct err e = { 0 };

		assert_int_equal(
			setxattr(dir, "trusted.overlay.redirect", bad[i], strlen(bad[i]), 0), 0);
		assert_int_equal(changes_read(p->session, 0, list_one, &got, &e), -EIO);
	}
}

static void link_in_the_way_of_a_redirect_leads_nowhere(void **state)
{
	struct place *p = *state;
	autofree char *dir = join(p, "upper/d");

	NEEDS_MOUNTS();
	sh(p, "l1", "ln -s /etc out");
	layers(p, false);
	sh(p, "upper", "mkdir d");
	assert_int_equal(setxattr(dir, "trusted.overlay.redirect", "/out/apt", 8, 0), 0);
	shows(p, "");
}

static void marks_of_the_workload_are_not_the_overlays(void **state)
{
	struct place *p = *state;
	autofree char *dir = join(p, "upper/d");

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir d; echo 1 >d/x");
	layers(p, false);
	sh(p, "upper", "mkdir d; : >e");
	assert_int_equal(setxattr(dir, "user.overlay.opaque", "y", 1, 0), 0);
	assert_int_equal(setxattr(dir, "user.overlay.redirect", "..", 2, 0), 0);
	shows(p, "A e\n");
}

static int compare_files(const struct change *c, void *arg)
{
	char text[2][16] = { "", "" };
	struct err e = { 0 };

	if (c->before >= 0)
		assert_true(io_read_full(c->before, text[0], 15, &e) >= 0);
	if (c->after >= 0)
		assert_true(io_read_full(c->after, text[1], 15, &e) >= 0);
	buf_printf(arg, "%c %s %o>%o [%s>%s] %s>%s\n", c->kind, c->path, c->mode_before, c->mode,
		   text[0], text[1], c->link_before ? c->link_before : "",
		   c->link_after ? c->link_after : "");
	return 0;
}

static void both_versions_are_handed_over_where_they_are_asked_for(void **state)
{
	struct place *p = *state;
	autobuf struct buf got = { 0 };
	struct err e = { 0 };

	NEEDS_MOUNTS();
	sh(p, "l1", "printf old >m; printf del >d; ln -s x l; mkfifo p");
	layers(p, false);
	inside(p, false,
	       "printf new >m; rm d p; printf add >a; ln -sf y l; mkdir dir; printf in >dir/f");
	assert_int_equal(changes_read(p->session, CHANGES_FILES, compare_files, &got, &e), 0);
	assert_string_equal(
		got.data,
		"A a 0>100644 [>add] >\nD d 100644>100644 [del>] >\nA dir/f 0>100644 [>in] >\n"
		"M l 120777>120777 [>] x>y\nM m 100644>100644 [old>new] >\n"
		"D p 10644>10644 [>] >\n");
}

static int stop_it(const struct change *c, void *arg)
{
	(void)c;
	(*(int *)arg)++;
	return -ECANCELED;
}

static void reader_may_stop_the_walk(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	int calls = 0;

	NEEDS_MOUNTS();
	layers(p, false);
	sh(p, "upper", "echo 1 >a; echo 1 >b");
	assert_int_equal(changes_read(p->session, 0, stop_it, &calls, &e), -ECANCELED);
	assert_int_equal(calls, 1);
}

static void cost_does_not_grow_with_what_was_not_changed(void **state)
{
	struct place *p = *state;
	struct timespec before, after;
	struct err e = { 0 };
	struct change_counts n;

	NEEDS_MOUNTS();
	sh(p, "l1", "mkdir big d; cd big; seq 20000 | xargs touch; echo 1 >../d/x");
	layers(p, false);
	inside(p, false, "echo 2 >d/x; touch big/1");
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	assert_int_equal(changes_count(p->session, &n, &e), 0);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	assert_int_equal(n.changed, 1);
	assert_true((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec <
		    10000000L);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(added_changed_and_deleted_files_are_told_in_the_order_of_paths),
		TEST(touched_file_that_reads_as_before_is_no_change),
		TEST(mode_alone_is_a_change),
		TEST(renamed_directory_is_its_files_deleted_and_added),
		TEST(directory_renamed_twice_and_moved_deeper_is_followed),
		TEST(two_directories_that_changed_places_are_compared_whole),
		TEST(directory_made_anew_hides_what_was_there),
		TEST(file_in_place_of_a_directory_and_the_other_way_round),
		TEST(links_and_special_files_are_told),
		TEST(file_deleted_that_never_was_below_is_no_change),
		TEST(private_git_directory_is_left_out),
		TEST(several_lowers_with_whiteouts_of_their_own_are_seen_as_one),
		TEST(redirect_in_a_lower_layer_is_followed_too),
		TEST(names_may_hold_any_byte),
		TEST(directories_shut_against_everybody_are_read),
		TEST(tree_deeper_than_is_looked_is_told_of_itself_and_harms_nothing),
		TEST(redirect_that_leads_out_of_its_layer_is_refused),
		TEST(link_in_the_way_of_a_redirect_leads_nowhere),
		TEST(marks_of_the_workload_are_not_the_overlays),
		TEST(both_versions_are_handed_over_where_they_are_asked_for),
		TEST(reader_may_stop_the_walk),
		TEST(cost_does_not_grow_with_what_was_not_changed),
	};

	/* The mounts go with this process, whatever becomes of it. */
	if (may_mount() &&
	    (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)) {
		perror("a private mount namespace");
		return 1;
	}
	(void)umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
