/* SPDX-License-Identifier: MIT */
/* test_rootfs_tree.c - what is laid on top of a tree that was named as "/", hostile trees first. */
#include "unit.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/io.h"
#include "base/str.h"
#include "plan/root_dir.h"
#include "session/rootfs.h"
#include "session/rootfs_parts.h"
#include "session/session.h"

static struct policy_user user = { .name = (char *)"openhands",
				   .home = (char *)"/home/openhands",
				   .shell = (char *)"/bin/bash",
				   .uid = 1000 };

/* A tree at S/tree, a secret beside it, and the skeleton in S/out. */
struct made {
	struct scratch *s;
	struct skeleton_spec spec;
	struct skeleton k;
	struct buf index;
};

static void sh(const struct scratch *s, const char *script)
{
	struct err e = { 0 };
	autofree char *command = str_fmt(&e, "set -e; S=%s; cd $S; %s", s->path, script);

	if (system(command) != 0)
		fail_msg("%s", command);
}

static int try_make(struct made *m, struct scratch *s, const char *script, struct err *e)
{
	mode_t old;
	int result;

	sh(s, "mkdir -p tree out; echo hush >secret");
	sh(s, script);
	*m = (struct made) { .s = s,
			     .spec = { .user = &user,
				       .hostname = "box",
				       .sudo = -1,
				       .tree = true,
				       .inside_owners = geteuid() == 0 } };
	m->k = (struct skeleton) { .spec = &m->spec, .index = &m->index };
	m->k.host = openat(s->dir, "tree", O_PATH | O_DIRECTORY | O_CLOEXEC);
	m->k.root = openat(s->dir, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	old = umask(0);
	result = skeleton_make(&m->k, e);
	(void)umask(old);
	return result;
}

static void made_clear(struct made *m)
{
	buf_clear(&m->index);
	(void)close(m->k.host);
	(void)close(m->k.root);
}

static struct made make(struct scratch *s, const char *script)
{
	struct err e = { 0 };
	struct made m;

	assert_ok(try_make(&m, s, script, &e));
	return m;
}

static void holds(const struct made *m, const char *path, const char *text)
{
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	assert_ok(io_read_file(m->k.root, path, 1 << 20, &b, &e));
	assert_string_equal(buf_str(&b), text);
}

static mode_t mode_of(const struct made *m, const char *path)
{
	struct stat st = { 0 };

	(void)fstatat(m->k.root, path, &st, AT_SYMLINK_NOFOLLOW);
	return st.st_mode;
}

static const char users_alone[] = "root:*:0:0::/root:/bin/bash\n"
				  "openhands:*:1000:0::/home/openhands:/bin/bash\n"
				  "nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n";

/* ---- passwd and group ---- */

static void users_of_the_tree_stay_and_ours_comes_before_them(void **state)
{
	static const struct {
		const char *tree, *want;
	} cases[] = {
		{ "", users_alone },
		{ "node:x:1000:1000::/home/node:/bin/sh",
		  "root:*:0:0::/root:/bin/bash\nopenhands:*:1000:0::/home/openhands:/bin/bash\n"
		  "node:x:1000:1000::/home/node:/bin/sh\n"
		  "nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n" },
		{ "www:x:33:33::/:/x\nroot:x:0:0:R:/root:/bin/ash\nnobody:x:65534:1::/:/y\n",
		  "root:x:0:0:R:/root:/bin/ash\nopenhands:*:1000:0::/home/openhands:/bin/bash\n"
		  "www:x:33:33::/:/x\nnobody:x:65534:1::/:/y\n" },
		{ "openhands:x:7:7::/elsewhere:/z\nopenhands2:x:8:8::/:/z\n",
		  "root:*:0:0::/root:/bin/bash\nopenhands:*:1000:0::/home/openhands:/bin/bash\n"
		  "openhands2:x:8:8::/:/z\nnobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n" },
		{ "\n\nno colon\n::\n:x:0x0:\n:x:99999999999999999999:\n+\n",
		  "root:*:0:0::/root:/bin/bash\nopenhands:*:1000:0::/home/openhands:/bin/bash\n"
		  "no colon\n::\n:x:0x0:\n:x:99999999999999999999:\n+\n"
		  "nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		autobuf struct buf b = { 0 };

		rootfs_merge_passwd(cases[i].tree, &user, &b);
		assert_string_equal(buf_str(&b), cases[i].want);
	}
}

static void root_as_the_policys_user_is_named_once(void **state)
{
	struct policy_user root = { .name = (char *)"root",
				    .home = (char *)"/root",
				    .shell = (char *)"/bin/sh" };
	autobuf struct buf b = { 0 };

	(void)state;
	rootfs_merge_passwd("root:x:0:0::/root:/bin/ash\nroot:x:0:0::/again:/bin/ash\n", &root, &b);
	assert_string_equal(buf_str(&b), "root:x:0:0::/root:/bin/ash\nroot:x:0:0::/again:/bin/ash\n"
					 "nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n");
}

static void group_of_the_user_is_added_where_the_tree_has_none_of_its_number(void **state)
{
	static const struct {
		gid_t gid;
		const char *tree, *want;
	} cases[] = {
		{ 0, "", "root:*:0:\nnogroup:*:65534:\n" },
		{ 0, "adm:x:4:a,b\nroot:x:0:\n", "root:x:0:\nadm:x:4:a,b\nnogroup:*:65534:\n" },
		{ 33, "www:x:33:\n", "root:*:0:\nwww:x:33:\nnogroup:*:65534:\n" },
		{ 2000, "openhands:x:5:\nnogroup:x:65534:\n",
		  "root:*:0:\nopenhands:*:2000:\nnogroup:x:65534:\n" },
		{ 65534, "", "root:*:0:\nopenhands:*:65534:\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy_user u = user;
		autobuf struct buf b = { 0 };

		u.gid = cases[i].gid;
		rootfs_merge_group(cases[i].tree, &u, &b);
		assert_string_equal(buf_str(&b), cases[i].want);
	}
}

/* ---- where it is laid ---- */

static void what_a_tree_lacks_is_made(void **state)
{
	static const char *const dirs[] = {
		"dev",	"proc", "run",	   "sys",	    "tmp",     "workspace",	"etc",
		"home", "root", "usr/bin", "usr/local/bin", "var/tmp", "home/openhands"
	};
	struct made m = make(*state, "true");

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (!S_ISDIR(mode_of(&m, dirs[i])))
			fail_msg("%s is no directory", dirs[i]);
	assert_int_equal(mode_of(&m, "tmp") & 07777, 01777);
	assert_int_equal(mode_of(&m, "var/tmp") & 07777, 01777);
	holds(&m, "etc/passwd", users_alone);
	holds(&m, "etc/hosts", "127.0.0.1\tlocalhost box\n");
	holds(&m, "etc/hostname", "box\n");
	holds(&m, "etc/nsswitch.conf", rootfs_nsswitch);
	made_clear(&m);
}

static void what_a_tree_has_is_not_laid_over(void **state)
{
	struct made m = make(
		*state, "cd tree; mkdir -p etc/skel usr/local/bin usr/bin root home var/tmp opt;"
			"echo own >etc/nsswitch.conf; echo rc >etc/skel/.bashrc;"
			"chmod 2775 usr/local; chmod 750 etc");

	assert_int_equal(mode_of(&m, "etc/nsswitch.conf"), 0);
	assert_int_equal(mode_of(&m, "opt"), 0);
	assert_int_equal(mode_of(&m, "root"), 0);
	assert_int_equal(mode_of(&m, "usr"), 0);
	assert_int_equal(mode_of(&m, "etc") & 07777, 0750);
	holds(&m, "home/openhands/.bashrc", "rc\n");
	made_clear(&m);
}

static void links_of_the_tree_are_followed_within_it(void **state)
{
	struct made m = make(
		*state, "cd tree; mkdir -p private/etc var/homes/openhands; ln -s /private/etc etc;"
			"ln -s ../../../../var/homes home; echo x:x:5:5::/:/ >private/etc/users;"
			"ln -s ./users private/etc/passwd; echo rc >var/homes/openhands/.bashrc");
	autobuf struct buf passwd = { 0 };
	struct err e = { 0 };

	assert_int_equal(mode_of(&m, "etc"), 0);
	assert_int_equal(mode_of(&m, "home"), 0);
	assert_ok(io_read_file(m.k.root, "private/etc/passwd", 1 << 20, &passwd, &e));
	assert_non_null(strstr(buf_str(&passwd), "x:x:5:5::/:/\n"));
	assert_true(S_ISREG(mode_of(&m, "private/etc/resolv.conf")));
	assert_true(S_ISDIR(mode_of(&m, "var/homes/openhands")));
	assert_int_equal(mode_of(&m, "var/homes/openhands/.bashrc"), 0); /* his own stays */
	made_clear(&m);
}

static void links_out_of_the_tree_lead_nowhere(void **state)
{
	struct scratch *s = *state;
	struct made m = make(
		s,
		"mkdir -p outside/bin tree/etc/skel tree/usr; echo o:x:9:9::/:/ >outside/passwd;"
		"ln -s $S/outside/passwd tree/etc/passwd; ln -s ../../secret tree/etc/skel/.bashrc;"
		"ln -s $S/outside tree/home; ln -s ../../outside/bin tree/usr/local;"
		"ln -s $S/secret tree/etc/group; ln -s /proc/self/root/$S/secret tree/etc/skel/.profile;"
		"ln -s $S/outside tree/tmp; ln -s loop tree/loop; ln -s loop tree/root");

	holds(&m, "etc/passwd", users_alone);
	holds(&m, "etc/group", "root:*:0:\nnogroup:*:65534:\n");
	assert_int_equal(mode_of(&m, "home/openhands/.bashrc"), 0);
	assert_int_equal(mode_of(&m, "home/openhands/.profile"), 0);
	/* What leads nowhere is covered. */
	assert_true(S_ISDIR(mode_of(&m, "home/openhands")));
	assert_true(S_ISDIR(mode_of(&m, "usr/local/bin")));
	assert_true(S_ISDIR(mode_of(&m, "tmp")));
	assert_true(S_ISDIR(mode_of(&m, "root")));
	sh(s,
	   "test \"$(find outside | sort | tr '\\n' ' ')\" = 'outside outside/bin outside/passwd '");
	made_clear(&m);
}

static void what_is_no_text_for_everybody_is_as_if_it_were_not_there(void **state)
{
	static const char *const kinds[] = {
		"mkfifo tree/etc/passwd",
		"mkdir tree/etc/passwd",
		"printf 'a\\0b:x:5:5::/:/\\n' >tree/etc/passwd",
		"echo x:x:5:5::/:/ >tree/etc/passwd; chmod 640 tree/etc/passwd",
		"ln -s shadow tree/etc/passwd; echo x:x:5:5::/:/ >tree/etc/shadow; chmod 600 tree/etc/shadow",
		"ln -s passwd tree/etc/passwd",
		"test $(id -u) -ne 0 || mknod -m 644 tree/etc/passwd c 1 5",
	};
	struct scratch *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct made m;

		sh(s, "rm -rf tree out; mkdir -p tree/etc out");
		m = make(s, kinds[i]);
		holds(&m, "etc/passwd", users_alone);
		made_clear(&m);
	}
}

static void passwd_beyond_the_limit_is_refused_by_name(void **state)
{
	struct scratch *s = *state;
	struct err e = { 0 };
	struct made m;

	assert_true(try_make(&m, s, "mkdir tree/etc; truncate -s 3T tree/etc/passwd", &e) < 0);
	assert_non_null(strstr(e.text, "'/etc/passwd' of the tree"));
	assert_non_null(strstr(e.text, "--rootfs"));
	made_clear(&m);
}

static void owners_are_the_trees_but_for_the_home(void **state)
{
	struct scratch *s = *state;
	struct stat st;
	struct made m;

	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	m = make(
		s,
		"mkdir -p tree/home/openhands tree/usr/local tree/etc; chown 33:34 tree/home/openhands;"
		"chown 0:50 tree/usr/local; chown 4000000000 tree/etc; chmod 711 tree/home/openhands");
	assert_int_equal(fstatat(m.k.root, "home/openhands", &st, 0), 0);
	assert_int_equal(st.st_uid, 1000);
	assert_int_equal(st.st_gid, 0);
	assert_int_equal(st.st_mode & 07777, 0711);
	assert_int_equal(fstatat(m.k.root, "usr/local", &st, 0), 0);
	assert_int_equal(st.st_gid, 50);
	/* An id that no session has is nobody's there: root's is better. */
	assert_int_equal(fstatat(m.k.root, "etc", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	made_clear(&m);
}

/* ---- when it is made anew ---- */

static void change_of_what_was_looked_at_is_seen_and_no_other(void **state)
{
	static const struct {
		const char *change;
		bool seen;
	} cases[] = {
		{ "echo x >>tree/data/file", false },
		{ "mkdir tree/usr/share/x", false },
		{ "echo x:x:5:5::/:/ >>tree/etc/passwd", true },
		{ "rm tree/etc/group", true },
		{ "mv tree/etc tree/e; cp -r tree/e tree/etc", true },
		{ "mv tree/etc tree/e; ln -s e tree/etc", true },
		{ "mkdir tree/usr/local/bin", true },
		{ "mkdir -p tree/home/openhands", true },
		{ "chmod 700 tree/usr", true },
	};
	struct scratch *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made m;

		sh(s,
		   "rm -rf tree out; mkdir -p tree/etc tree/data tree/usr/share tree/usr/local out");
		m = make(s, "echo a:x:1:1::/:/ >tree/etc/passwd; echo a:x:1: >tree/etc/group");
		assert_true(index_holds(m.index.data, m.index.len, m.k.host));
		sh(s, cases[i].change);
		if (index_holds(m.index.data, m.index.len, m.k.host) == cases[i].seen)
			fail_msg("'%s' is %sseen", cases[i].change, cases[i].seen ? "not " : "");
		made_clear(&m);
	}
}

static char *skeleton_for(struct scratch *s, const char *tree, char *shell)
{
	autofree char *path = NULL, *state = NULL;
	struct policy policy = { .user = user };
	struct request request = { .net = -1 };
	struct plan plan = { .request = &request,
			     .policy = &policy,
			     .hostname = (char *)"box",
			     .user = { .shell = shell },
			     .ids = geteuid() == 0 ? IDS_ROOT : IDS_SINGLE };
	autoclose int sudo = open("/proc/self/exe", O_PATH | O_CLOEXEC), dir = -1;
	struct err e = { 0 };
	char *skeleton = NULL;

	path = str_fmt(&e, "%s/%s", s->path, tree);
	state = str_fmt(&e, "%s/state", s->path);
	request.rootfs = path;
	dir = state_open(state, &e);
	assert_ok(dir);
	assert_ok(rootfs_up(&plan, dir, sudo, &skeleton, &e));
	return skeleton;
}

static void each_tree_has_one_skeleton_whatever_its_name(void **state)
{
	struct scratch *s = *state;
	autofree char *one = NULL, *again = NULL, *moved = NULL, *other = NULL, *shell = NULL;

	sh(s, "mkdir -p one other");
	one = skeleton_for(s, "one", user.shell);
	again = skeleton_for(s, "one", user.shell);
	assert_string_equal(one, again);
	other = skeleton_for(s, "other", user.shell);
	assert_string_not_equal(one, other);
	shell = skeleton_for(s, "one", (char *)"/bin/sh");
	assert_string_not_equal(one, shell);
	sh(s, "cp -a other swap; rm -r other; mv swap other");
	moved = skeleton_for(s, "other", user.shell);
	assert_string_not_equal(other, moved);
}

/* ---- what is decided ---- */

static struct host host_as(enum ids_mode ids)
{
	return (struct host) { .kernel_major = 6,
			       .kernel_minor = 18,
			       .privileged = ids == IDS_ROOT,
			       .ids = ids,
			       .uid = ids == IDS_ROOT ? 0 : geteuid(),
			       .state_dir = (char *)"/nonexistent/state" };
}

static int resolve(struct request *r, const struct host *h, char *path, struct err *e)
{
	struct homes *homes = NULL;
	int result;

	r->rootfs = path;
	assert_int_equal(homes_read("/nonexistent", NULL, &homes, e), 0);
	result = root_dir_resolve(r, h, homes, e);
	homes_free(homes);
	return result;
}

static void tree_of_somebody_else_is_read_and_not_mapped(void **state)
{
	struct scratch *s = *state;
	struct request r = { .net = -1 };
	struct host root = host_as(IDS_ROOT), me = host_as(IDS_SUBIDS);
	struct err e = { 0 };

	sh(s, "mkdir tree; ln -s tree link");
	me.uid = geteuid() + 1;
	assert_ok(resolve(&r, &me, str_fmt(&e, "%s/link", s->path), &e));
	assert_true(str_ends(r.rootfs, "/tree"));
	assert_true(r.rootfs_fixed && !r.rootfs_mapped);
	request_clear(&r);
	me.uid = geteuid();
	assert_ok(resolve(&r, &me, str_fmt(&e, "%s/tree", s->path), &e));
	assert_true(!r.rootfs_fixed && !r.rootfs_mapped);
	request_clear(&r);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(s->path, 0, 0), 0);
	sh(s, "chown 12345 tree");
	assert_ok(resolve(&r, &root, str_fmt(&e, "%s/tree", s->path), &e));
	assert_true(r.rootfs_fixed && !r.rootfs_mapped);
	request_clear(&r);
	/* On a kernel that can map no file system at all, root's own is not mapped either. */
	sh(s, "chown 0 tree");
	root.kernel_major = 5;
	root.kernel_minor = 11;
	assert_ok(resolve(&r, &root, str_fmt(&e, "%s/tree", s->path), &e));
	assert_true(r.rootfs_fixed && !r.rootfs_mapped);
	request_clear(&r);
}

static void roots_that_show_too_much_are_refused_by_name(void **state)
{
	struct scratch *s = *state;
	struct request r = { .net = -1 };
	struct host h = host_as(IDS_SINGLE);
	autofree char *words = NULL;
	struct err e = { 0 };

	assert_refused(resolve(&r, &h, strdup("/"), &e), EPERM,
		       "--rootfs / is refused: it is the host's own root, whose programs a session "
		       "without --rootfs has");
	request_clear(&r);
	assert_refused(resolve(&r, &h, strdup("/usr/../etc/"), &e), EPERM,
		       "--rootfs /etc is refused: /etc: /etc is a directory of the system");
	request_clear(&r);
	assert_refused(resolve(&r, &h, strdup("/nonexistent"), &e), ENOENT,
		       "--rootfs /nonexistent: No such file or directory");
	request_clear(&r);
	sh(s, "mkdir -p tree/state; touch file");
	words = str_fmt(&e, "--rootfs %s/file: Not a directory", s->path);
	assert_refused(resolve(&r, &h, str_fmt(&e, "%s/file", s->path), &e), ENOTDIR, words);
	request_clear(&r);
	h.state_dir = str_fmt(&e, "%s/tree/state", s->path);
	assert_int_equal(resolve(&r, &h, str_fmt(&e, "%s/tree", s->path), &e), -EPERM);
	assert_non_null(strstr(e.text, "contains the state directory"));
	request_clear(&r);
	free(h.state_dir);
}

static void shell_is_the_policys_where_the_tree_has_it(void **state)
{
	struct scratch *s = *state;
	struct request r = { .net = -1 };
	struct err e = { 0 };

	sh(s,
	   "mkdir -p tree/bin tree/usr/bin; touch tree/usr/bin/bash; ln -s /usr/bin/bash tree/bin/bash");
	r.rootfs = str_fmt(&e, "%s/tree", s->path);
	assert_ok(root_dir_shell(&r, "/bin/bash", &e));
	assert_null(r.rootfs_shell);
	sh(s, "rm tree/usr/bin/bash");
	assert_ok(root_dir_shell(&r, "/bin/bash", &e));
	assert_string_equal(r.rootfs_shell, "/bin/sh");
	request_clear(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_of_the_tree_stay_and_ours_comes_before_them),
		cmocka_unit_test(root_as_the_policys_user_is_named_once),
		cmocka_unit_test(group_of_the_user_is_added_where_the_tree_has_none_of_its_number),
		scratch_test(what_a_tree_lacks_is_made),
		scratch_test(what_a_tree_has_is_not_laid_over),
		scratch_test(links_of_the_tree_are_followed_within_it),
		scratch_test(links_out_of_the_tree_lead_nowhere),
		scratch_test(what_is_no_text_for_everybody_is_as_if_it_were_not_there),
		scratch_test(passwd_beyond_the_limit_is_refused_by_name),
		scratch_test(owners_are_the_trees_but_for_the_home),
		scratch_test(change_of_what_was_looked_at_is_seen_and_no_other),
		scratch_test(each_tree_has_one_skeleton_whatever_its_name),
		scratch_test(tree_of_somebody_else_is_read_and_not_mapped),
		scratch_test(roots_that_show_too_much_are_refused_by_name),
		scratch_test(shell_is_the_policys_where_the_tree_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
