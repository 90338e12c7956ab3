/* SPDX-License-Identifier: MIT */
/* test_rootfs.c - the skeleton of "/" made of a host that the test makes up. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/rootfs.h"
#include "session/rootfs_parts.h"
#include "session/session.h"

struct place {
	char path[64];
	struct policy_user user;
	struct skeleton_spec spec;
	struct skeleton k;
	struct buf index;
};

static void sh(const struct place *p, const char *script)
{
	struct err e = { 0 };
	autofree char *command = str_fmt(&e, "set -e; cd %s; %s", p->path, script);

	if (system(command) != 0)
		fail_msg("%s", command);
}

static const char host[] =
	"mkdir -p host/etc/ssl/certs host/etc/apt/sources.list.d host/etc/apt/auth.conf.d host/etc/skel host/usr;"
	"cd host; ln -s usr/bin bin; ln -s /home/x sbin; mkdir lib; cd etc;"
	"echo NAME=x >os-release; echo secret >gitconfig; echo secret >pip.conf; echo h >shadow; chmod 600 shadow;"
	"printf 'root:x:0:0:R:/root:/bin/sh\\n_apt:x:42:65534::/nonexistent:/bin/false\\nme:x:1000:1000:Me:/home/me:/bin/sh\\n"
	"+nis\\nwww:x:33:33:W:/var/www:/bin/sh\\n' >passwd; printf 'root:x:0:\\nwww:x:33:me\\nme:x:1000:\\n' >group;"
	"echo 'deb http://me:pass@word@deb.example/x y main' >apt/sources.list; echo k >apt/auth.conf;"
	"echo machine x password y >apt/auth.conf.d/a.conf; echo alias >skel/.bashrc;"
	"printf -- '-----BEGIN CERTIFICATE-----' >ssl/certs/a.pem; printf -- '-----BEGIN RSA PRIVATE KEY-----' >ssl/certs/b.pem;"
	"echo root >ssl/certs/only-root.pem; chmod 600 ssl/certs/only-root.pem; ln -s a.pem ssl/certs/0123.0; mkfifo ssl/certs/pipe;"
	"mkdir ssl/certs/shut; echo x >ssl/certs/shut/x; chmod 700 ssl/certs/shut; mkdir perl; echo x >perl/x; chmod 711 perl;"
	"echo old >ssl/certs/a.pem~; mkdir java-99; echo j >java-99/c; mkdir -p maven; echo s >maven/settings.xml; echo m >maven/m2.conf";

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->path, sizeof(p->path), "/tmp/test-rootfs-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	assert_int_equal(chmod(p->path, 0755), 0);
	(void)umask(022);
	sh(p, "mkdir out");
	sh(p, host);
	p->user = (struct policy_user) { .name = (char *)"openhands",
					 .home = (char *)"/home/openhands",
					 .shell = (char *)"/bin/bash",
					 .uid = 1000 };
	p->spec = (struct skeleton_spec) { .user = &p->user,
					   .hostname = "box",
					   .sudo = -1,
					   .inside_owners = geteuid() == 0 };
	p->k.spec = &p->spec;
	p->k.index = &p->index;
	p->k.host = open(p->path, O_PATH | O_DIRECTORY);
	p->k.root = openat(p->k.host, "out", O_RDONLY | O_DIRECTORY);
	(void)dup3(openat(p->k.host, "host", O_PATH | O_DIRECTORY), p->k.host, O_CLOEXEC);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	buf_clear(&p->index);
	(void)close(p->k.host);
	(void)close(p->k.root);
	assert_int_equal(fs_remove_tree(AT_FDCWD, p->path, &e), 0);
	free(p);
	return 0;
}

static void make(struct place *p)
{
	struct err e = { 0 };
	mode_t old = umask(0);

	if (skeleton_make(&p->k, &e) < 0)
		fail_msg("%s", e.text);
	(void)umask(old);
}

static bool there(const struct place *p, const char *path)
{
	return faccessat(p->k.root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void holds(const struct place *p, const char *path, const char *expected)
{
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	if (io_read_file(p->k.root, path, 1 << 20, &b, &e) < 0)
		fail_msg("%s", e.text);
	if (!strstr(buf_str(&b), expected))
		fail_msg("'%s' does not hold '%s': %s", path, expected, buf_str(&b));
}

static void what_only_root_can_read_is_never_copied(void **state)
{
	struct place *p = *state;

	make(p);
	assert_true(there(p, "etc/ssl/certs/a.pem"));
	assert_true(there(p, "etc/ssl/certs/0123.0"));
	assert_false(there(p, "etc/ssl/certs/only-root.pem"));
	assert_false(there(p, "etc/ssl/certs/shut"));
	assert_false(there(p, "etc/perl")); /* its names are shut, its files are not */
	holds(p, "etc/shadow", "root:*:");
}

static void what_is_not_named_is_not_there(void **state)
{
	static const char *const absent[] = {
		"etc/gitconfig",
		"etc/pip.conf",
		"etc/apt/auth.conf",
		"etc/apt/auth.conf.d/a.conf",
		"etc/maven/settings.xml",
		"etc/ssl/certs/b.pem",
		"etc/ssl/certs/a.pem~",
		"etc/ssl/certs/pipe",
		"sbin",
		"etc/sudoers",
	};
	struct place *p = *state;

	make(p);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		if (there(p, absent[i]))
			fail_msg("%s is there", absent[i]);
	assert_true(there(p, "etc/maven/m2.conf"));
	assert_true(there(p, "etc/java-99/c"));
}

static void credentials_are_taken_out_of_package_sources(void **state)
{
	struct place *p = *state;

	make(p);
	holds(p, "etc/apt/sources.list", "deb http://deb.example/x y main\n");
}

static void stripping_leaves_all_else_as_it_is(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "://", "://" },
		{ "a://b@", "a://" },
		{ "x://u:p@h/p@q ://v@w", "x://h/p@q ://w" },
		{ "mail a@b.c http://h/", "mail a@b.c http://h/" },
		{ "\"http://u:p@proxy:3128/\";", "\"http://proxy:3128/\";" },
		{ ":/", ":/" },
		{ "a:///@", "a:///@" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[64];
		size_t n = strlen(cases[i][0]);

		memcpy(text, cases[i][0], n);
		text[rootfs_strip_credentials(text, n)] = '\0';
		assert_string_equal(text, cases[i][1]);
	}
}

static void users_are_root_the_policys_and_the_hosts_system_users_without_shells(void **state)
{
	struct place *p = *state;
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	make(p);
	assert_int_equal(io_read_file(p->k.root, "etc/passwd", 1 << 20, &b, &e), 0);
	assert_string_equal(
		b.data,
		"root:x:0:0::/root:/bin/bash\nopenhands:x:1000:0::/home/openhands:/bin/bash\n"
		"_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n"
		"www:x:33:33::/var/www:/usr/sbin/nologin\n"
		"nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
	buf_reset(&b);
	assert_int_equal(io_read_file(p->k.root, "etc/group", 1 << 20, &b, &e), 0);
	assert_string_equal(b.data, "root:x:0:\nwww:x:33:\nnogroup:x:65534:\n");
}

static void group_of_the_policys_user_is_named_once(void **state)
{
	autobuf struct buf group = { 0 }, shadow = { 0 };
	struct policy_user u = { .name = (char *)"me", .gid = 33 },
			   v = { .name = (char *)"me", .gid = 2000 };

	(void)state;
	rootfs_group("www:x:33:x\nother:x:44:\n", &u, &group, &shadow);
	assert_string_equal(group.data, "root:x:0:\nwww:x:33:\nother:x:44:\nnogroup:x:65534:\n");
	buf_reset(&group);
	rootfs_group("www:x:33:x\n", &v, &group, &shadow);
	assert_string_equal(group.data, "root:x:0:\nwww:x:33:\nme:x:2000:\nnogroup:x:65534:\n");
}

static void modes_and_owners_are_those_of_a_system(void **state)
{
	struct place *p = *state;
	struct stat st;

	make(p);
	assert_int_equal(fstatat(p->k.root, "tmp", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 01777);
	assert_int_equal(fstatat(p->k.root, "root", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0711);
	assert_int_equal(fstatat(p->k.root, "etc/shadow", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstatat(p->k.root, "home/openhands/.bashrc", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	if (geteuid() == 0)
		assert_int_equal(st.st_uid, 1000);
}

static void tops_are_links_where_the_host_has_links(void **state)
{
	struct place *p = *state;
	char text[32] = "";
	struct stat st;

	make(p);
	assert_int_equal(readlinkat(p->k.root, "bin", text, sizeof(text) - 1), 7);
	assert_string_equal(text, "usr/bin");
	assert_int_equal(fstatat(p->k.root, "lib", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void names_are_generated(void **state)
{
	struct place *p = *state;

	p->spec.resolvers = (struct resolvers) { .address = { 0x01020304 }, .n = 1 };
	make(p);
	holds(p, "etc/hosts", "127.0.0.1\tlocalhost box\n");
	holds(p, "etc/hostname", "box\n");
	holds(p, "etc/resolv.conf", "nameserver 1.2.3.4\n");
	holds(p, "etc/nsswitch.conf", "hosts: files dns\n");
}

static void certificate_of_the_policy_is_copied_or_refused_by_name(void **state)
{
	struct place *p = *state;
	char *good[] = { (char *)"/opt/ca.pem", (char *)"/etc/pki/x.pem", NULL };
	char *missing[] = { (char *)"/opt/none.pem", NULL },
	     *shut[] = { (char *)"/opt/shut.pem", NULL };
	struct err e = { 0 };

	sh(p, "mkdir -p host/opt host/etc/pki; echo C >host/opt/ca.pem; echo D >host/etc/pki/x.pem;"
	      "echo E >host/opt/shut.pem; chmod 600 host/opt/shut.pem");
	p->spec.certificates = good;
	make(p);
	holds(p, "etc/ssl/certs/ca.pem", "C\n");
	holds(p, "etc/pki/x.pem", "D\n");
	p->spec.certificates = missing;
	assert_int_equal(skeleton_copy(&p->k, &e) < 0, 1);
	sh(p, "rm -r out; mkdir out");
	(void)close(p->k.root);
	p->k.root = openat(p->k.host, "../out", O_RDONLY | O_DIRECTORY);
	e.code = 0;
	assert_int_equal(skeleton_copy(&p->k, &e), -ENOENT);
	assert_non_null(strstr(e.text, "opt/none.pem"));
	p->spec.certificates = shut;
	sh(p, "rm -r out; mkdir out");
	(void)close(p->k.root);
	p->k.root = openat(p->k.host, "../out", O_RDONLY | O_DIRECTORY);
	assert_int_equal(skeleton_copy(&p->k, &e), -EACCES);
	assert_non_null(strstr(e.text, "opt/shut.pem"));
}

static void copied_link_does_not_lead_a_write_out_to_the_host(void **state)
{
	struct place *p = *state;
	char *list[] = { (char *)"/opt/ca.pem", NULL };
	struct err e = { 0 };

	sh(p, "mkdir -p host/opt elsewhere; echo C >host/opt/ca.pem; rm -r host/etc/ssl/certs;"
	      "ln -s $PWD/elsewhere host/etc/ssl/certs");
	p->spec.certificates = list;
	assert_true(skeleton_make(&p->k, &e) < 0);
	sh(p, "test -z \"$(ls elsewhere)\"");
}

static bool index_says_same(const struct place *p)
{
	return index_holds(p->index.data, p->index.len, p->k.host);
}

static void change_of_what_was_copied_is_seen(void **state)
{
	static const char *const changes[] = {
		"echo x >>host/etc/apt/sources.list",
		"echo x >host/etc/apt/sources.list.d/new.list",
		"echo x >host/etc/t; mv host/etc/t host/etc/os-release",
		"chmod 600 host/etc/apt/sources.list",
		"mkdir host/etc/java-100",
		"echo x >host/etc/ssl/certs/new.pem",
		"echo x:x:77:77::/:/ >>host/etc/passwd",
		"rm host/bin",
		"mkdir host/lib64",
		"mkdir -p host/var/lib/dpkg; touch host/var/lib/dpkg/status",
	};
	struct place *p = *state;

	make(p);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		assert_true(index_says_same(p));
		sh(p, changes[i]);
		if (index_says_same(p))
			fail_msg("not seen: %s", changes[i]);
		sh(p, "rm -rf out; mkdir out");
		(void)close(p->k.root);
		p->k.root = openat(p->k.host, "../out", O_RDONLY | O_DIRECTORY);
		buf_reset(&p->index);
		make(p);
	}
}

static void index_of_other_bytes_holds_nothing(void **state)
{
	struct place *p = *state;
	autofree char *copy = NULL;

	make(p);
	assert_true(index_holds(p->index.data, 0, p->k.host));
	copy = malloc(p->index.len);
	assert_non_null(copy);
	memcpy(copy, p->index.data, p->index.len);
	for (size_t cut = 1; cut < 200; cut++)
		if (index_holds(copy, cut, p->k.host))
			assert_true(cut > 40); /* whole entries only */
	memset(copy, 0xff, p->index.len);
	assert_false(index_holds(copy, p->index.len, p->k.host));
}

static bool leads_to(const struct place *p, const char *path, const char *text)
{
	char found[64] = "";

	return readlinkat(p->k.root, path, found, sizeof(found) - 1) > 0 &&
	       strcmp(found, text) == 0;
}

static void sudo_is_a_program_of_its_own_where_path_finds_it_first(void **state)
{
	struct place *p = *state;
	struct stat st;

	sh(p, "mkdir -p host/opt && echo program >host/opt/sudo");
	p->spec.sudo = openat(p->k.host, "opt/sudo", O_PATH | O_CLOEXEC);
	p->spec.sudo_path = "/opt/sudo";
	make(p);
	holds(p, "usr/local/bin/sudo", "program");
	assert_int_equal(fstatat(p->k.root, "usr/local/bin/sudo", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_true(leads_to(p, "usr/bin/sudo", "../local/bin/sudo"));
	/* Another program of that name makes another skeleton. */
	assert_true(index_holds(p->index.data, p->index.len, p->k.host));
	sh(p, "echo new >host/opt/sudo");
	assert_false(index_holds(p->index.data, p->index.len, p->k.host));
	(void)close(p->spec.sudo);
}

static void python_is_python3_where_the_host_has_no_other(void **state)
{
	struct place *p = *state;

	sh(p, "mkdir -p host/usr/bin && touch host/usr/bin/python3");
	make(p);
	assert_true(leads_to(p, "usr/bin/python", "python3"));
	assert_true(leads_to(p, "usr/local/bin/python", "/usr/bin/python3"));
}

static void python_of_the_host_stays(void **state)
{
	struct place *p = *state;

	sh(p, "mkdir -p host/usr/bin && touch host/usr/bin/python3 host/usr/bin/python");
	make(p);
	assert_false(there(p, "usr/bin/python"));
	assert_false(there(p, "usr/local/bin/python"));
}

static void without_python3_there_is_no_python(void **state)
{
	struct place *p = *state;

	make(p);
	assert_false(there(p, "usr/bin/python"));
	/* One that comes is seen. */
	sh(p, "mkdir -p host/usr/bin && touch host/usr/bin/python3");
	assert_false(index_holds(p->index.data, p->index.len, p->k.host));
}

static void skeleton_is_made_once_and_found_again(void **state)
{
	struct place *p = *state;
	struct policy policy = { .user = p->user };
	struct request request = { .net = -1 };
	struct plan plan = { .request = &request,
			     .policy = &policy,
			     .hostname = (char *)"box",
			     .user = p->user,
			     .ids = IDS_SINGLE };
	autofree char *first = NULL, *again = NULL, *other = NULL, *path = NULL;
	struct stat before, after;
	autoclose int sudo = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct err e = { 0 };
	int s;

	path = str_fmt(&e, "%s/state", p->path);
	s = state_open(path, &e);
	assert_true(s >= 0);
	if (rootfs_up(&plan, s, sudo, &first, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(fstatat(s, first, &before, 0), 0);
	assert_int_equal(rootfs_up(&plan, s, sudo, &again, &e), 0);
	assert_string_equal(first, again);
	assert_int_equal(fstatat(s, again, &after, 0), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	plan.hostname = (char *)"other";
	assert_int_equal(rootfs_up(&plan, s, sudo, &other, &e), 0);
	assert_string_not_equal(first, other);
	assert_int_equal(faccessat(s, first, F_OK, 0), 0);
	(void)close(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_only_root_can_read_is_never_copied),
		TEST(what_is_not_named_is_not_there),
		TEST(credentials_are_taken_out_of_package_sources),
		TEST(stripping_leaves_all_else_as_it_is),
		TEST(users_are_root_the_policys_and_the_hosts_system_users_without_shells),
		TEST(group_of_the_policys_user_is_named_once),
		TEST(modes_and_owners_are_those_of_a_system),
		TEST(tops_are_links_where_the_host_has_links),
		TEST(names_are_generated),
		TEST(certificate_of_the_policy_is_copied_or_refused_by_name),
		TEST(copied_link_does_not_lead_a_write_out_to_the_host),
		TEST(change_of_what_was_copied_is_seen),
		TEST(index_of_other_bytes_holds_nothing),
		TEST(sudo_is_a_program_of_its_own_where_path_finds_it_first),
		TEST(python_is_python3_where_the_host_has_no_other),
		TEST(python_of_the_host_stays),
		TEST(without_python3_there_is_no_python),
		TEST(skeleton_is_made_once_and_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
