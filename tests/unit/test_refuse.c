/* SPDX-License-Identifier: MIT */
/* test_refuse.c - paths no session is given, and what resolving a request finds. */
#include "unit.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/io.h"
#include "base/str.h"
#include "plan/plan.h"
#include "plan/refuse.h"
#include "plan/strv.h"

static struct homes *homes_of(struct scratch *s)
{
	static const char passwd[] =
		"root:x:0:0::/root:/bin/sh\nwww:x:33:33::/var/www:/bin/false\n"
		"alice:x:1000:1000::/data/homes/alice:/bin/sh\nnobody:x:65534:65534::/nonexistent:/x\n";
	autofree char *path = NULL;
	struct homes *homes = NULL;
	struct err e = { 0 };

	assert_ok(io_replace_file(s->dir, "passwd", passwd, strlen(passwd), 0600, &e));
	assert_true(asprintf(&path, "%s/passwd", s->path) > 0);
	assert_ok(homes_read(path, "/own/home", &homes, &e));
	return homes;
}

static void directories_that_show_too_much_are_refused_by_name(void **state)
{
	static const struct {
		const char *path, *words;
	} cases[] = {
		{ "/",
		  "--dir / is refused: / is the whole host: name the directory that is to be worked on" },
		{ "/etc", "--dir /etc is refused: /etc: /etc is a directory of the system" },
		{ "/etc/nginx",
		  "--dir /etc/nginx is refused: /etc/nginx: /etc is a directory of the system" },
		{ "/usr", "--dir /usr is refused: /usr: /usr is a directory of the system" },
		{ "/home", "--dir /home is refused: /home: /home is a directory of the system" },
		{ "/root", "--dir /root is refused: /root: /root is a directory of the system" },
		{ "/var/www",
		  "--dir /var/www is refused: /var/www is a home directory: name a directory in it" },
		{ "/data/homes/alice",
		  "--dir /data/homes/alice is refused: /data/homes/alice is a home directory: name a directory in it" },
		{ "/data/homes",
		  "--dir /data/homes is refused: /data/homes contains the home directory /data/homes/alice" },
		{ "/data",
		  "--dir /data is refused: /data contains the home directory /data/homes/alice" },
		{ "/own/home",
		  "--dir /own/home is refused: /own/home is a home directory: name a directory in it" },
		{ "/srv/state",
		  "--dir /srv/state is refused: /srv/state contains the state directory /srv/state/ohs" },
		{ "/srv/state/ohs/sessions",
		  "--dir /srv/state/ohs/sessions is refused: /srv/state/ohs/sessions is in "
		  "the state directory /srv/state/ohs" },
		{ "/own/home/.ssh",
		  "--dir /own/home/.ssh is refused: /own/home/.ssh: .ssh holds keys" },
		{ "/own/home/.ssh/x",
		  "--dir /own/home/.ssh/x is refused: /own/home/.ssh/x: .ssh holds keys" },
	};
	struct homes *homes = homes_of(*state);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { 0 };

		assert_refused(refuse_dir(cases[i].path, "/srv/state/ohs", homes, &e), EPERM,
			       cases[i].words);
	}
	homes_free(homes);
}

static void directories_of_work_are_taken(void **state)
{
	static const char *const paths[] = { "/src/project",
					     "/data/homes/alice/src",
					     "/opt/app",
					     "/own/home/.sshx/project",
					     "/usr/src/linux",
					     "/tmp/x",
					     "/var/lib/jenkins/job",
					     "/srv/other" };
	struct homes *homes = homes_of(*state);
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_ok(refuse_dir(paths[i], "/srv/state/ohs", homes, &e));
	homes_free(homes);
}

static char *in_scratch(struct scratch *s, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", s->path, name) > 0);
	return path;
}

static void refused_mount(struct scratch *s, const char *name, const char *why)
{
	autofree char *path = in_scratch(s, name);
	struct homes *homes = homes_of(s);
	struct err e = { 0 };

	assert_int_equal(refuse_mount(path, NULL, homes, &e), -EPERM);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, why));
	homes_free(homes);
}

static void sockets_devices_and_pipes_are_not_mounted(void **state)
{
	struct scratch *s = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct homes *homes = homes_of(s);
	struct err e = { 0 };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", s->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	refused_mount(s, "socket", "is a socket of the host");
	assert_int_equal(mkfifoat(s->dir, "pipe", 0600), 0);
	refused_mount(s, "pipe", "is neither a file nor a directory");
	assert_refused(refuse_mount("/dev/null", NULL, homes, &e), EPERM,
		       "--mount /dev/null is refused: /dev/null is a device of the host");
	homes_free(homes);
}

static void keys_are_not_mounted_nor_what_holds_them(void **state)
{
	struct scratch *s = *state;

	assert_int_equal(mkdirat(s->dir, "home", 0700), 0);
	assert_int_equal(mkdirat(s->dir, "home/.ssh", 0700), 0);
	assert_int_equal(mkdirat(s->dir, "home/.ssh/sub", 0700), 0);
	assert_int_equal(mkdirat(s->dir, "home/.config", 0700), 0);
	assert_int_equal(mkdirat(s->dir, "home/.config/gcloud", 0700), 0);
	refused_mount(s, "home", "contains .ssh, which holds keys");
	refused_mount(s, "home/.ssh", ".ssh holds keys");
	refused_mount(s, "home/.ssh/sub", ".ssh holds keys");
	refused_mount(s, "home/.config/gcloud", ".config/gcloud holds keys");
}

static void secrets_of_the_host_are_not_mounted(void **state)
{
	struct homes *homes = homes_of(*state);
	struct err e = { 0 };

	assert_refused(
		refuse_mount("/etc/shadow", NULL, homes, &e), EPERM,
		"--mount /etc/shadow is refused: /etc/shadow: /etc/shadow holds secrets of the host");
	assert_int_equal(refuse_mount("/etc/passwd", NULL, homes, &e), 1);
	assert_int_equal(refuse_mount("/proc/self", NULL, homes, &e), -EPERM);
	homes_free(homes);
}

static void directories_and_files_are_told_apart(void **state)
{
	struct scratch *s = *state;
	autofree char *file = in_scratch(s, "passwd");
	struct homes *homes = homes_of(s);
	struct err e = { 0 };

	assert_int_equal(refuse_mount(s->path, NULL, homes, &e), 0);
	assert_int_equal(refuse_mount(file, NULL, homes, &e), 1);
	homes_free(homes);
}

static void targets_that_hide_a_wall_are_refused(void **state)
{
	static const char *const bad[] = {
		"/",	      "relative",	 "/a/../b",	     "/a//b",  "/a/.", "/a/",
		"/proc",      "/proc/x",	 "/dev/shm",	     "/sys/x", "/usr", "/etc",
		"/workspace", "/workspace/.git", "/run/ohsandbox/x", ""
	};
	static const char *const good[] = { "/data", "/workspace/data", "/usr/share/x", "/opt/a.b",
					    "/etc/x.conf" };
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_true(refuse_target(bad[i], &e) < 0);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_ok(refuse_target(good[i], &e));
}

/* What request_resolve() needs of a host. */
static struct host host_here(void)
{
	return (struct host) { .ids = IDS_ROOT, .idmapped_mounts = true, .dirs = 1 };
}

static void make_file(struct scratch *s, const char *name, const char *text, mode_t mode)
{
	autofree char *dir = strdup(name);
	char *slash = strrchr(dir, '/');
	struct err e = { 0 };
	int fd;

	if (slash) {
		*slash = '\0';
		fd = fs_mkdir_path(s->dir, dir, 0755, &e);
		assert_ok(fd);
		(void)close(fd);
	}
	fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, text, strlen(text), &e));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static const struct policy_mount *mount_of(const struct request *r, const char *host)
{
	for (unsigned i = 0; i < r->n_mounts; i++)
		if (str_eq(r->mounts[i].host, host))
			return &r->mounts[i];
	return NULL;
}

static void toolchains_are_found_on_the_path_and_credentials_stay_out(void **state)
{
	struct scratch *s = *state;
	struct request r = { .net = -1, .toolchains = true };
	struct host h = host_here();
	struct policy p = { 0 };
	autofree char *path = NULL;
	autofree char *cargo = in_scratch(s, ".cargo/bin");
	autofree char *cargo_top = in_scratch(s, ".cargo");
	autofree char *rustup = in_scratch(s, ".rustup");
	autofree char *go = in_scratch(s, "go1.22");
	autofree char *node = in_scratch(s, ".nvm/versions/node/v20.1.0");
	autofree char *other = in_scratch(s, "tools/bin");
	struct err e = { 0 };

	make_file(s, ".cargo/bin/cargo", "", 0755);
	make_file(s, ".cargo/credentials.toml", "secret", 0600);
	make_file(s, ".rustup/settings.toml", "", 0644);
	make_file(s, "go1.22/bin/go", "", 0755);
	make_file(s, "go1.22/VERSION", "go1.22", 0644);
	make_file(s, ".nvm/versions/node/v20.1.0/bin/node", "", 0755);
	make_file(s, "tools/bin/x", "", 0755);
	assert_true(asprintf(&path, "%s:/usr/bin:%s/bin:%s/bin:%s:/nonexistent:relative:", cargo,
			     go, node, other) > 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_ok(request_resolve(&r, &p, &h, &e));
	assert_non_null(mount_of(&r, cargo));
	assert_null(mount_of(&r, cargo_top));
	assert_non_null(mount_of(&r, rustup));
	assert_non_null(mount_of(&r, go));
	assert_non_null(mount_of(&r, node));
	assert_int_equal(r.n_mounts, 4);
	for (unsigned i = 0; i < r.n_mounts; i++) {
		assert_int_equal(r.mounts[i].mode, MOUNT_MODE_RO);
		assert_true(r.mounts[i].plain_ids);
	}
	assert_int_equal(strv_len(r.toolchain_path), 3);
	assert_string_equal(r.toolchain_path[0], cargo);
	assert_string_equal(strv_env_get(r.host_env, "RUSTUP_HOME"), rustup);
	request_clear(&r);
}

static void bundles_are_passed_only_where_there_is_a_way_out(void **state)
{
	struct scratch *s = *state;
	struct request none = { .net = NET_NONE }, nat = { .net = NET_NAT };
	char *variables[] = { (char[]) { "SSL_CERT_FILE" }, (char[]) { "CURL_CA_BUNDLE" },
			      (char[]) { "PIP_CERT" }, NULL };
	struct policy p = { .certificate_env = variables };
	autofree char *bundle = in_scratch(s, "ca.pem");
	autofree char *secret = in_scratch(s, "secret.pem");
	struct host h = host_here();
	struct err e = { 0 };

	make_file(s, "ca.pem", "x", 0644);
	make_file(s, "secret.pem", "x", 0600);
	assert_int_equal(setenv("SSL_CERT_FILE", bundle, 1), 0);
	assert_int_equal(setenv("CURL_CA_BUNDLE", bundle, 1), 0);
	assert_int_equal(setenv("PIP_CERT", secret, 1), 0);
	assert_ok(request_resolve(&none, &p, &h, &e));
	assert_int_equal(none.n_mounts, 0);
	assert_ok(request_resolve(&nat, &p, &h, &e));
	assert_int_equal(nat.n_mounts, 1);
	assert_string_equal(nat.mounts[0].inside, "/run/ohsandbox/certificates/0.pem");
	assert_string_equal(strv_env_get(nat.host_env, "CURL_CA_BUNDLE"),
			    "/run/ohsandbox/certificates/0.pem");
	assert_null(strv_env_get(nat.host_env, "PIP_CERT"));
	request_clear(&none);
	request_clear(&nat);
}

static void only_named_variables_are_passed(void **state)
{
	char *names[] = { (char[]) { "OHS_TEST_ONE" }, (char[]) { "OHS_TEST_MISSING" }, NULL };
	struct policy p = { .pass_env = names };
	struct request r = { .net = -1 };
	struct host h = host_here();
	struct err e = { 0 };

	(void)state;
	assert_int_equal(setenv("OHS_TEST_ONE", "1", 1), 0);
	assert_int_equal(setenv("OHS_TEST_TWO", "2", 1), 0);
	assert_int_equal(setenv("TZ", "../../etc/passwd", 1), 0);
	assert_ok(request_resolve(&r, &p, &h, &e));
	assert_string_equal(strv_env_get(r.host_env, "OHS_TEST_ONE"), "1");
	assert_null(strv_env_get(r.host_env, "OHS_TEST_TWO"));
	assert_null(strv_env_get(r.host_env, "OHS_TEST_MISSING"));
	assert_true(!strv_env_get(r.host_env, "TZ") ||
		    !strstr(strv_env_get(r.host_env, "TZ"), ".."));
	request_clear(&r);
}

static void the_same_target_twice_is_refused(void **state)
{
	struct scratch *s = *state;
	struct request r = { .net = -1 };
	struct policy p = { 0 };
	struct host h = host_here();
	struct err e = { 0 };

	r.mounts = calloc(2, sizeof(*r.mounts));
	r.n_mounts = 2;
	for (unsigned i = 0; i < 2; i++)
		r.mounts[i] = (struct policy_mount) { .host = strdup(s->path),
						      .inside = strdup("/data") };
	assert_refused(request_resolve(&r, &p, &h, &e), EEXIST,
		       "--mount: /data inside is given twice");
	request_clear(&r);
}

static void mount_that_is_not_there_is_named(void **state)
{
	struct request r = { .net = -1 };
	struct policy p = { 0 };
	struct host h = host_here();
	struct err e = { 0 };

	(void)state;
	r.mounts = calloc(1, sizeof(*r.mounts));
	r.n_mounts = 1;
	r.mounts[0] = (struct policy_mount) { .host = strdup("/nonexistent/x"),
					      .inside = strdup("/data") };
	assert_refused(request_resolve(&r, &p, &h, &e), ENOENT,
		       "--mount /nonexistent/x: No such file or directory");
	request_clear(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(directories_that_show_too_much_are_refused_by_name),
		scratch_test(directories_of_work_are_taken),
		scratch_test(sockets_devices_and_pipes_are_not_mounted),
		scratch_test(keys_are_not_mounted_nor_what_holds_them),
		scratch_test(secrets_of_the_host_are_not_mounted),
		scratch_test(directories_and_files_are_told_apart),
		cmocka_unit_test(targets_that_hide_a_wall_are_refused),
		scratch_test(toolchains_are_found_on_the_path_and_credentials_stay_out),
		scratch_test(bundles_are_passed_only_where_there_is_a_way_out),
		cmocka_unit_test(only_named_variables_are_passed),
		scratch_test(the_same_target_twice_is_refused),
		cmocka_unit_test(mount_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
