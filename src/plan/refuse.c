/* SPDX-License-Identifier: MIT */
/* refuse.c - paths of the host that no session may be given. */
#include "plan/refuse.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/str.h"

#define HOMES_MAX 10000

struct homes {
	struct home {
		char *path;
		bool person; /* not a service's: what contains it is refused too */
	} * list;
	size_t n;
};

/* `beneath`: nothing below it either. */
static const struct system_dir {
	const char *path;
	bool beneath;
} system_dirs[] = {
	{ "/bin", true },	  { "/boot", true },	   { "/dev", true },
	{ "/etc", true },	  { "/home", false },	   { "/lib", true },
	{ "/lib32", true },	  { "/lib64", true },	   { "/libx32", true },
	{ "/media", false },	  { "/mnt", false },	   { "/opt", false },
	{ "/proc", true },	  { "/root", false },	   { "/run", true },
	{ "/sbin", true },	  { "/srv", false },	   { "/sys", true },
	{ "/tmp", false },	  { "/usr", false },	   { "/usr/bin", true },
	{ "/usr/lib", true },	  { "/usr/sbin", true },   { "/usr/libexec", true },
	{ "/usr/local", false },  { "/usr/share", false }, { "/var", false },
	{ "/var/backups", true }, { "/var/cache", false }, { "/var/lib", false },
	{ "/var/log", true },	  { "/var/mail", true },   { "/var/run", true },
	{ "/var/spool", true },	  { "/var/tmp", false },
};

/* Below any directory: credentials by the names their programs give them. */
static const char *const keys[] = {
	".ssh",
	".gnupg",
	".aws",
	".azure",
	".kube",
	".docker",
	".netrc",
	".git-credentials",
	".password-store",
	".pgpass",
	".my.cnf",
	".pypirc",
	".npmrc",
	".vault-token",
	".terraform.d",
	".terraformrc",
	".mozilla",
	".thunderbird",
	".config/gcloud",
	".config/gh",
	".config/hub",
	".config/rclone",
	".config/op",
	".config/sops",
	".config/git/credentials",
	".config/chromium",
	".config/google-chrome",
	".local/share/keyrings",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".config/containers/auth.json",
	".boto",
	".s3cfg",
	".claude/.credentials.json",
	".codex/auth.json",
};

/* Of the machine itself; "/etc" as a whole is refused, but single files of it may be asked for. */
static const char *const host_secrets[] = {
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/ssh",
	"/etc/ssl/private",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/krb5.keytab",
	"/etc/apt/auth.conf",
	"/etc/apt/auth.conf.d",
	"/etc/wireguard",
	"/etc/NetworkManager",
	"/etc/kubernetes",
	"/var/lib/docker",
	"/var/lib/containerd",
	"/var/lib/kubelet",
	"/var/lib/private",
};

static int homes_add(struct homes *homes, const char *path, bool person, struct err *e)
{
	struct home *grown;
	char *copy;

	if (homes->n >= HOMES_MAX || path[0] != '/' || str_eq(path, "/"))
		return 0;
	grown = reallocarray(homes->list, homes->n + 1, sizeof(*grown));
	if (!grown)
		return err_code(e, ENOMEM, "no memory for the list of homes");
	homes->list = grown;
	/* A home behind a link is the directory the link leads to; one that is not there stays as named. */
	copy = realpath(path, NULL);
	if (!copy)
		copy = str_dup(path, e);
	if (!copy)
		return -e->code;
	grown[homes->n++] = (struct home) { .path = copy, .person = person };
	return 0;
}

static bool is_person(const struct passwd *pw)
{
	return pw->pw_uid == 0 || (pw->pw_uid >= 1000 && pw->pw_uid < 65534);
}

static int homes_fill(struct homes *homes, const char *passwd, const char *own, struct err *e)
{
	FILE *file = fopen(passwd, "re");
	struct passwd *pw;
	int ret = 0;

	/* No file, no users; the caller's own home is known all the same. */
	while (file && ret == 0 && (pw = fgetpwent(file)) != NULL)
		ret = homes_add(homes, pw->pw_dir, is_person(pw), e);
	if (file)
		(void)fclose(file); /* it was only read */
	if (ret == 0 && own)
		ret = homes_add(homes, own, true, e);
	return ret;
}

int homes_read(const char *passwd, const char *own, struct homes **out, struct err *e)
{
	struct homes *homes = calloc(1, sizeof(*homes));

	if (!homes)
		return err_code(e, ENOMEM, "no memory for the list of homes");
	if (homes_fill(homes, passwd, own, e) < 0) {
		homes_free(homes);
		return -e->code;
	}
	*out = homes;
	return 0;
}

void homes_free(struct homes *homes)
{
	if (!homes)
		return;
	for (size_t i = 0; i < homes->n; i++)
		free(homes->list[i].path);
	free(homes->list);
	free(homes);
}

static int refuse_system(const char *path, struct err *e)
{
	if (str_eq(path, "/"))
		return err_code(e, EPERM,
				"/ is the whole host: name the directory that is to be worked on");
	for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++)
		if (str_eq(path, system_dirs[i].path) ||
		    (system_dirs[i].beneath && fs_is_beneath(system_dirs[i].path, path)))
			return err_code(e, EPERM, "%s: %s is a directory of the system", path,
					system_dirs[i].path);
	return 0;
}

static int refuse_homes(const char *path, const struct homes *homes, struct err *e)
{
	for (size_t i = 0; i < homes->n; i++) {
		const struct home *home = &homes->list[i];

		if (str_eq(path, home->path))
			return err_code(e, EPERM, "%s is a home directory: name a directory in it",
					path);
		if (home->person && fs_is_beneath(path, home->path))
			return err_code(e, EPERM, "%s contains the home directory %s", path,
					home->path);
	}
	return 0;
}

static int refuse_state(const char *path, const char *state_dir, struct err *e)
{
	if (!state_dir)
		return 0;
	if (fs_is_beneath(path, state_dir))
		return err_code(e, EPERM, "%s contains the state directory %s", path, state_dir);
	if (fs_is_beneath(state_dir, path))
		return err_code(e, EPERM, "%s is in the state directory %s", path, state_dir);
	return 0;
}

/* Is one of `path`'s tails the key, or does it stand below the key? */
static bool goes_through(const char *path, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
		if (strncmp(at + 1, key, len) == 0 && (at[1 + len] == '/' || at[1 + len] == '\0'))
			return true;
	return false;
}

static int refuse_keys(const char *path, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (goes_through(path, keys[i]))
			return err_code(e, EPERM, "%s: %s holds keys", path, keys[i]);
	for (size_t i = 0; i < ARRAY_LEN(host_secrets); i++) {
		if (fs_is_beneath(host_secrets[i], path))
			return err_code(e, EPERM, "%s: %s holds secrets of the host", path,
					host_secrets[i]);
		if (fs_is_beneath(path, host_secrets[i]))
			return err_code(e, EPERM, "%s contains %s, which holds secrets of the host",
					path, host_secrets[i]);
	}
	return 0;
}

/* A directory is not searched to its bottom, but keys lie at the top of what holds them. */
static int refuse_keys_in(int dir, const char *path, struct err *e)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (fstatat(dir, keys[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return err_code(e, EPERM, "%s contains %s, which holds keys", path,
					keys[i]);
	return 0;
}

static int refuse_as(const char *option, const char *path, const char *state_dir,
		     const struct homes *homes, struct err *e)
{
	struct err why = { 0 };

	if (refuse_system(path, &why) == 0 && refuse_homes(path, homes, &why) == 0 &&
	    refuse_state(path, state_dir, &why) == 0 && refuse_keys(path, &why) == 0)
		return 0;
	return err_code(e, why.code, "%s %s is refused: %s", option, path, why.text);
}

int refuse_dir(const char *path, const char *state_dir, const struct homes *homes, struct err *e)
{
	return refuse_as("--dir", path, state_dir, homes, e);
}

int refuse_root(const char *path, const char *state_dir, const struct homes *homes, struct err *e)
{
	struct stat host, st;

	/* It may be mounted at another place, too. */
	if (stat("/", &host) == 0 && stat(path, &st) == 0 && host.st_dev == st.st_dev &&
	    host.st_ino == st.st_ino)
		return err_code(
			e, EPERM,
			"--rootfs %s is refused: it is the host's own root, whose programs a "
			"session without --rootfs has",
			path);
	return refuse_as("--rootfs", path, state_dir, homes, e);
}

static int refuse_kind(mode_t mode, const char *path, struct err *e)
{
	if (S_ISSOCK(mode))
		return err_code(e, EPERM, "%s is a socket of the host", path);
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return err_code(e, EPERM, "%s is a device of the host", path);
	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return err_code(e, EPERM, "%s is neither a file nor a directory", path);
	return 0;
}

/* A single file of /etc or /usr is nothing secret unless it is named above; a directory is a lower
 * layer, and host directories of the system are there already. */
static int refuse_places(const char *path, mode_t mode, const char *state_dir,
			 const struct homes *homes, struct err *e)
{
	if (S_ISDIR(mode) && refuse_system(path, e) < 0)
		return -e->code;
	if (fs_is_beneath("/proc", path) || fs_is_beneath("/sys", path) ||
	    fs_is_beneath("/dev", path))
		return err_code(e, EPERM, "%s is the kernel's", path);
	if (refuse_homes(path, homes, e) < 0 || refuse_state(path, state_dir, e) < 0)
		return -e->code;
	return refuse_keys(path, e);
}

int refuse_mount(const char *path, const char *state_dir, const struct homes *homes, struct err *e)
{
	autoclose int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct err why = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "--mount %s", path);
	if (refuse_kind(st.st_mode, path, &why) < 0 ||
	    refuse_places(path, st.st_mode, state_dir, homes, &why) < 0 ||
	    (S_ISDIR(st.st_mode) && refuse_keys_in(fd, path, &why) < 0))
		return err_code(e, why.code, "--mount %s is refused: %s", path, why.text);
	return S_ISREG(st.st_mode);
}

/* Absolute, and as short as it can be written. */
static bool is_normal(const char *path)
{
	if (path[0] != '/' || !path[1])
		return false;
	while (*path) {
		size_t len = strcspn(++path, "/");

		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
	}
	return true;
}

int refuse_target(const char *inside, struct err *e)
{
	/* Whoever stands here would hide a wall or what the session works on. */
	static const char *const whole[] = { "/usr",  "/etc", "/workspace", "/tmp", "/run",  "/var",
					     "/home", "/bin", "/sbin",	    "/lib", "/lib64" };
	static const char *const beneath[] = { "/proc", "/sys", "/dev", "/run/ohsandbox",
					       "/workspace/.git" };

	if (!is_normal(inside))
		return err_code(e, EINVAL, "--mount: '%s' is not a plain absolute path inside",
				inside);
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (str_eq(inside, whole[i]))
			return err_code(e, EPERM, "--mount: %s of the session cannot be replaced",
					inside);
	for (size_t i = 0; i < ARRAY_LEN(beneath); i++)
		if (fs_is_beneath(beneath[i], inside))
			return err_code(e, EPERM,
					"--mount: nothing can be mounted beneath %s of the session",
					beneath[i]);
	return 0;
}
