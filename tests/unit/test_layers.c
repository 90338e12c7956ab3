/* SPDX-License-Identifier: MIT */
/* test_layers.c - a session's layers: made and opened, removed, kept; with the ids of others too. */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/changes.h"
#include "session/idhelper.h"
#include "session/overlay.h"
#include "session/record.h"
#include "session/remove.h"
#include "session/slot.h"
#include "session/spare.h"

#define ID "0123456789ab"
#define NOBODY 65534
#define SUB_FIRST 200000

struct place {
	char path[64];
	int state;
	struct session *session;
	struct policy policy;
	struct plan plan;
};

static void sh(const struct place *p, const char *script)
{
	struct err e = { 0 };
	autofree char *command = str_fmt(&e, "set -e; cd %s; %s", p->path, script);

	if (system(command) != 0)
		fail_msg("%s", command);
}

static struct session *make_session(struct place *p, enum ids_mode ids)
{
	struct record r = { .id = ID, .slot = ids == IDS_ROOT ? 7 : SESSION_NO_SLOT, .ids = ids };
	struct session *s = NULL;
	struct err e = { 0 };

	if (ids != IDS_ROOT) {
		r.session_uids = r.session_gids =
			(struct id_map) { .range = { { 0, NOBODY, 1 } }, .n = 1 };
		if (ids == IDS_SUBIDS) {
			r.session_uids.range[1] = (struct id_range) { 1, SUB_FIRST, 65536 };
			r.session_gids.range[1] = r.session_uids.range[1];
			r.session_uids.n = r.session_gids.n = 2;
		}
	}
	if (session_new(p->state, &r, &s, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct err e = { 0 };

	assert_non_null(p);
	(void)snprintf(p->path, sizeof(p->path), "/tmp/test-layers-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->state = state_open(p->path, &e);
	assert_true(p->state >= 0);
	sh(p, "mkdir -p skel/workspace lower; chmod 1755 lower");
	p->session = make_session(p, IDS_ROOT);
	p->policy.user.uid = 1000;
	p->plan = (struct plan) { .policy = &p->policy,
				  .ids = geteuid() == 0 ? IDS_ROOT : IDS_SINGLE };
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	overlay_close(&p->plan);
	for (unsigned i = 0; i < p->plan.n_texts; i++)
		free(p->plan.texts[i]);
	free(p->plan.texts);
	free(p->plan.mounts);
	session_close(p->session);
	(void)close(p->state);
	if (fs_remove_tree(AT_FDCWD, p->path, &e) < 0)
		fail_msg("%s", e.text);
	free(p);
	return 0;
}

static void add(struct place *p, enum mount_kind kind, const char *target, const char *source,
		const char *layer, enum mount_ids ids, unsigned flags)
{
	struct mount_step step = mount_step_new(kind, target, source);
	struct err e = { 0 };

	step.layer = layer;
	step.lower_ids = ids;
	step.flags = flags;
	assert_int_equal(plan_add_mount(&p->plan, &step, &e), 0);
}

static char *in(const struct place *p, const char *name)
{
	struct err e = { 0 };

	return str_fmt(&e, "%s/%s", p->path, name);
}

static void is_upper(const struct mount_step *step, mode_t mode, uid_t uid)
{
	struct stat st;

	assert_true(step->upper >= 0 && step->work >= 0);
	assert_int_equal(fstat(step->upper, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | mode);
	if (geteuid() == 0)
		assert_int_equal(st.st_uid, uid);
}

static void layers_get_the_mode_below_them_and_the_owner_inside(void **state)
{
	struct place *p = *state;
	autofree char *lower = in(p, "lower");
	struct base base = { .layers = { lower }, .n_layers = 1 };
	uid_t first = slot_uid_base(7);
	struct err e = { 0 };
	mode_t old = umask(077);

	add(p, MOUNT_OVERLAY, "/", NULL, "root", MOUNT_IDS_SESSION, 0);
	add(p, MOUNT_OVERLAY, "/usr", lower, "usr", MOUNT_IDS_SESSION, 0);
	add(p, MOUNT_OVERLAY, "/workspace", lower, "workspace", MOUNT_IDS_OWNER, 0);
	add(p, MOUNT_OVERLAY, "/usr/local", NULL, "usr-local", MOUNT_IDS_SESSION, 0);
	if (overlay_up(&p->plan, &base, "skel", p->session, &e) < 0)
		fail_msg("%s", e.text);
	(void)umask(old);
	is_upper(&p->plan.mounts[0], 0755, first);
	is_upper(&p->plan.mounts[1], 01755, first);
	is_upper(&p->plan.mounts[2], 01755, first + 1000);
	is_upper(&p->plan.mounts[3], 0755, first);
	for (int i = 0; i < 4; i++)
		assert_int_equal(p->plan.mounts[i].n_lower, 1);
	assert_int_equal(p->plan.mounts[2].lower_ids_each[0], MOUNT_IDS_OWNER);
	assert_int_equal(p->plan.mounts[3].lower_ids_each[0], MOUNT_IDS_SESSION);
}

static void base_layers_come_in_their_order_and_objects_as_mounts_of_their_own(void **state)
{
	struct place *p = *state;
	autofree char *lower = in(p, "lower"), *git = in(p, "git");
	struct base base = { .layers = { git, lower },
			     .n_layers = 2,
			     .objects = { git, lower },
			     .n_objects = 2 };
	struct stat a, b;
	struct err e = { 0 };

	sh(p, "mkdir git");
	base.object_fds[0] = open(git, O_PATH | O_DIRECTORY);
	base.object_fds[1] = open(lower, O_PATH | O_DIRECTORY);
	add(p, MOUNT_OVERLAY, "/workspace", "/repo", "workspace", MOUNT_IDS_OWNER, 0);
	assert_int_equal(overlay_up(&p->plan, &base, "skel", p->session, &e), 0);
	assert_int_equal(p->plan.mounts[0].n_lower, 2);
	assert_int_equal(stat(git, &a), 0);
	assert_int_equal(fstat(p->plan.mounts[0].lower[0], &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(p->plan.n_mounts, 3);
	assert_string_equal(p->plan.mounts[2].target, "/run/ohsandbox/objects/1");
	assert_true(p->plan.mounts[2].flags & MOUNT_RO);
	assert_int_equal(p->plan.mounts[2].n_lower, 1);
	(void)close(base.object_fds[0]);
	(void)close(base.object_fds[1]);
	assert_int_equal(fstat(p->plan.mounts[2].lower[0], &b), 0);
}

static void bind_refused(struct place *p, const char *source, unsigned flags, const char *because)
{
	struct err e = { 0 };

	add(p, MOUNT_BIND, "/x", source, NULL, MOUNT_IDS_PLAIN, flags);
	assert_true(overlay_up(&p->plan, NULL, "skel", p->session, &e) < 0);
	assert_non_null(strstr(e.text, source));
	assert_non_null(strstr(e.text, because));
	overlay_close(&p->plan);
	p->plan.n_mounts--;
}

static void what_is_no_file_is_not_bound(void **state)
{
	struct place *p = *state;
	autofree char *fifo = in(p, "fifo"), *sock = in(p, "sock"), *none = in(p, "none"),
		      *file = in(p, "file");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", sock);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	sh(p, "mkfifo fifo; touch file");
	bind_refused(p, fifo, 0, "neither");
	bind_refused(p, sock, 0, "neither");
	bind_refused(p, "/dev/null", 0, "neither");
	bind_refused(p, file, MOUNT_DEV, "no character device");
	bind_refused(p, none, 0, "No such file");
	(void)close(fd);
}

static void device_files_and_directories_are_bound_and_let_go(void **state)
{
	struct place *p = *state;
	autofree char *file = in(p, "file");
	struct err e = { 0 };
	int first, last;

	sh(p, "touch file");
	add(p, MOUNT_BIND, "/dev/null", "/dev/null", NULL, MOUNT_IDS_PLAIN, MOUNT_DEV);
	add(p, MOUNT_BIND, "/f", file, NULL, MOUNT_IDS_PLAIN, MOUNT_RO);
	add(p, MOUNT_BIND, "/d", p->path, NULL, MOUNT_IDS_PLAIN, MOUNT_RO);
	first = dup(0);
	(void)close(first);
	if (overlay_up(&p->plan, NULL, "skel", p->session, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(p->plan.mounts[0].n_lower, 1);
	overlay_close(&p->plan);
	last = dup(0);
	(void)close(last);
	assert_int_equal(first, last);
}

/* Looked at first, opened later: in between it was a directory. */
static void link_in_place_of_what_the_caller_named_is_refused(void **state)
{
	struct place *p = *state;
	autofree char *given = in(p, "given");
	struct err e = { 0 };

	assert_int_equal(symlinkat("/etc", p->state, "given"), 0);
	add(p, MOUNT_BIND, "/mnt", given, NULL, MOUNT_IDS_PLAIN, MOUNT_RO | MOUNT_GIVEN);
	assert_int_equal(overlay_up(&p->plan, NULL, "skel", p->session, &e), -ELOOP);
	p->plan.mounts[0].kind = MOUNT_OVERLAY;
	p->plan.mounts[0].layer = "mount-0";
	assert_int_equal(overlay_up(&p->plan, NULL, "skel", p->session, &e), -ELOOP);
	assert_int_equal(unlinkat(p->state, "given", 0), 0);
}

static void missing_layer_is_named(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	add(p, MOUNT_OVERLAY, "/opt", "/no/such/dir", "opt", MOUNT_IDS_SESSION, 0);
	assert_int_equal(overlay_up(&p->plan, NULL, "skel", p->session, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/no/such/dir"));
}

static bool is_there(const struct place *p)
{
	return faccessat(p->state, "sessions/" ID, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void removed_session_leaves_nothing_and_may_be_removed_again(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	sh(p,
	   "cd sessions/" ID
	   "; mkdir -p layers/a/upper/x/y layers/a/work/work layers/b/upper layers/odd; touch layers/a/upper/x/f;"
	   "ln -s /etc layers/b/upper/etc; mkdir -m 000 layers/b/upper/shut; chmod 000 layers/a/work/work");
	if (layers_remove(p->session, &e) < 0)
		fail_msg("%s", e.text);
	assert_false(is_there(p));
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	assert_int_equal(layers_remove(p->session, &e), 0);
}

static void what_a_volatile_mount_leaves_is_removed(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	if (geteuid() != 0)
		skip();
	sh(p,
	   "S=sessions/" ID "/layers/w; mkdir -p $S/upper $S/work m;"
	   "mount -t overlay o -o lowerdir=lower,upperdir=$S/upper,workdir=$S/work,volatile m; echo x >m/f; umount m;"
	   "test -e $S/work/work/incompat/volatile");
	assert_int_equal(layers_remove(p->session, &e), 0);
	assert_false(is_there(p));
}

static void kept_layer_can_be_mounted_again(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	if (geteuid() != 0)
		skip();
	sh(p,
	   "S=sessions/" ID "/layers/w; mkdir -p $S/upper $S/work m;"
	   "mount -t overlay o -o lowerdir=lower,upperdir=$S/upper,workdir=$S/work,volatile m; echo x >m/f; umount m");
	if (layers_keep(p->session, &e) < 0)
		fail_msg("%s", e.text);
	sh(p,
	   "S=sessions/" ID "/layers/w;"
	   "mount -t overlay o -o lowerdir=lower,upperdir=$S/upper,workdir=$S/work m; grep -q x m/f; umount m");
}

/* All that lies there has rested; tidy it, and begin the next session. */
static void begin_next(struct place *p, const char *id)
{
	struct record r = { .slot = 7, .ids = IDS_ROOT };
	struct err e = { 0 };

	(void)strcpy(r.id, id);
	sh(p, "cd cache/vacant; for d in $(ls); do mv $d 000000000000000${d#${d%?}}; done");
	while (spare_tidy(p->state, -1, &e) > 0)
		;
	session_close(p->session);
	if (session_new(p->state, &r, &p->session, &e) < 0)
		fail_msg("%s", e.text);
}

/* The inode of what the next session gets as layer `a`. */
static ino_t next_upper(struct place *p, mode_t *mode)
{
	struct stat st;
	struct err e = { 0 };

	begin_next(p, ID);
	for (unsigned i = 0; i < p->plan.n_mounts; i++)
		p->plan.mounts[i].n_lower = 0;
	if (!p->plan.n_mounts)
		add(p, MOUNT_OVERLAY, "/a", NULL, "a", MOUNT_IDS_SESSION, 0);
	if (overlay_up(&p->plan, NULL, "skel", p->session, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(fstat(p->plan.mounts[0].upper, &st), 0);
	overlay_close(&p->plan);
	*mode = st.st_mode & 07777;
	return st.st_ino;
}

static void mark_upper(const struct place *p)
{
	autofree char *path = in(p, "sessions/" ID "/layers/a/upper");

	assert_int_equal(setxattr(path, geteuid() == 0 ? "trusted.x" : "user.x", "y", 1, 0), 0);
}

/* `meanwhile` NULL: an attribute is put on the upper directory. */
static bool is_used_again(struct place *p, const char *meanwhile)
{
	autoclose int hold = -1;
	struct err e = { 0 };
	mode_t mode;
	ino_t first;

	assert_int_equal(layers_remove(p->session, &e), 0);
	sh(p, "rm -rf cache/vacant; mkdir -p cache/vacant");
	first = next_upper(p, &mode);
	if (meanwhile)
		sh(p, meanwhile);
	else
		mark_upper(p);
	/* Held open, so that its number is not given to another one. */
	hold = openat(p->session->dir, "layers/a/upper", O_PATH);
	assert_true(hold >= 0);
	assert_int_equal(layers_remove(p->session, &e), 0);
	assert_false(is_there(p));
	first = first == next_upper(p, &mode) ? 1 : 0;
	assert_int_equal(mode, 0755);
	return first;
}

#define UPPER_A "sessions/" ID "/layers/a/upper"
#define USE_AS_MOUNTED                                                            \
	"S=sessions/" ID "/layers/a; mkdir -p m;"                                 \
	"mount -t overlay o -o lowerdir=lower,upperdir=$S/upper,workdir=$S/work," \
	"volatile m; mkdir m/x; touch m/x/y; rm -r m/x; umount m"

static void tidying_ends_when_somebody_waits_and_is_gone_on_with(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	int ends[2];
	mode_t mode;

	assert_int_equal(layers_remove(p->session, &e), 0);
	(void)next_upper(p, &mode);
	sh(p, "mkdir -p sessions/" ID "/layers/a/work/work/incompat/volatile");
	assert_int_equal(layers_remove(p->session, &e), 0);
	sh(p, "mv cache/vacant/* cache/vacant/0000000000000001");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(spare_tidy(p->state, ends[0], &e), 0);
	sh(p, "test -d cache/vacant/0000000000000001/layers/a/work/work/incompat");
	(void)close(ends[1]);
	(void)close(ends[0]);
	assert_int_equal(spare_tidy(p->state, -1, &e), 1);
	sh(p, "test -d cache/vacant/0000000000000001.tidy/layers/a/work &&"
	      "! test -e cache/vacant/0000000000000001.tidy/layers/a/work/work");
}

static void layer_that_was_not_written_to_serves_the_next_session(void **state)
{
	struct place *p = *state;

	assert_true(is_used_again(p, "true"));
	assert_true(is_used_again(p, "chmod 777 " UPPER_A));
	if (geteuid() == 0)
		assert_true(is_used_again(p, USE_AS_MOUNTED));
}

static void layer_that_a_session_marked_does_not_reach_the_next(void **state)
{
	struct place *p = *state;

	assert_false(is_used_again(p, "touch " UPPER_A "/f"));
	assert_false(is_used_again(p, "mkdir " UPPER_A "/d"));
	assert_false(is_used_again(p, "touch sessions/" ID "/layers/a/work/x"));
	assert_false(is_used_again(p, "mkdir sessions/" ID "/layers/a/work/work;"
				      "touch sessions/" ID "/layers/a/work/work/x"));
	assert_false(is_used_again(p, NULL));
	assert_false(is_used_again(p, "chattr +d " UPPER_A " || touch " UPPER_A "/f"));
}

static void layer_that_was_written_to_goes_at_once(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	sh(p,
	   "cd sessions/" ID "/layers || { mkdir sessions/" ID "/layers; cd sessions/" ID
	   "/layers; };"
	   "mkdir -p a/upper a/work/work/incompat/volatile b/upper/d b/work mount-0/upper mount-0/work");
	assert_int_equal(layers_remove(p->session, &e), 0);
	sh(p, "test \"$(cd cache/vacant/*/layers; ls)\" = a");
}

static void spare_directory_tells_nothing_of_the_session_that_had_it(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	(void)strcpy(p->session->record.key, "5ec2e7");
	assert_int_equal(session_save(p->session, &e), 0);
	assert_int_equal(session_note(p->session, &e, "init 77 88"), 0);
	sh(p, "grep -q 5ec2e7 sessions/" ID "/record.json");
	assert_int_equal(layers_remove(p->session, &e), 0);
	sh(p, "! grep -rqE '5ec2e7|" ID "|77' cache/vacant; test -f cache/vacant/*/lock");
	begin_next(p, "ba9876543210");
	assert_int_equal(p->session->record.init_pid, 0);
	assert_int_equal(session_is_alive(p->state, ID, &e), 0);
	assert_int_equal(session_is_alive(p->state, "ba9876543210", &e), 1);
	assert_int_equal(session_note(p->session, &e, "init 99 1"), 0);
	session_close(p->session);
	assert_int_equal(session_open(p->state, "ba98", true, &p->session, &e), 0);
	assert_int_equal(p->session->record.init_pid, 99);
	assert_string_equal(p->session->record.key, "");
}

/* It was opened before the end, and waits to take the session down. */
static void who_waits_for_an_ended_session_does_not_find_the_next(void **state)
{
	struct place *p = *state;
	struct session *waits = NULL;
	struct err e = { 0 };

	assert_int_equal(session_open(p->state, ID, false, &waits, &e), 0);
	assert_int_equal(layers_remove(p->session, &e), 0);
	assert_int_equal(session_lock(waits, false, &e), 0);
	assert_false(session_exists(waits));
	/* As long as he holds the lock nobody else can: a directory of its own, then. */
	begin_next(p, "ba9876543210");
	assert_false(p->session->spare);
	assert_false(session_exists(waits));
	assert_int_equal(layers_remove(waits, &e), 0);
	session_close(waits);
	assert_true(session_exists(p->session));
	assert_int_equal(session_is_alive(p->state, "ba9876543210", &e), 1);
}

static void spare_directories_rest_before_they_are_tidied_and_used(void **state)
{
	struct place *p = *state;
	autoclose int sessions = -1;
	struct err e = { 0 };

	assert_int_equal(spare_count(p->state, &e), 0);
	assert_int_equal(spare_tidy(p->state, -1, &e), 0);
	assert_int_equal(layers_remove(p->session, &e), 0);
	assert_int_equal(spare_count(p->state, &e), 1);
	sessions = sessions_hold(p->state, &e);
	sh(p, "mv cache/vacant/* cache/vacant/$(printf %016x $(date +%s%N))");
	assert_int_equal(spare_tidy(p->state, -1, &e), 0);
	assert_int_equal(spare_take(p->state, sessions, ID, &e), 0);
	sh(p, "mv cache/vacant/* cache/vacant/ffffffffffffffff");
	assert_int_equal(spare_take(p->state, sessions, ID, &e), 0);
	assert_int_equal(spare_tidy(p->state, -1, &e), 1);
	assert_int_equal(spare_tidy(p->state, -1, &e), 0);
	assert_int_equal(spare_take(p->state, sessions, ID, &e), 1);
	assert_int_equal(spare_take(p->state, sessions, ID, &e), 0);
	assert_int_equal(spare_count(p->state, &e), 0);
}

static void spare_directory_is_not_tidied_by_two(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	autoclose int at_it = -1;

	assert_int_equal(layers_remove(p->session, &e), 0);
	sh(p, "mv cache/vacant/* cache/vacant/0000000000000001");
	at_it = openat(p->state, "cache/vacant", O_RDONLY);
	assert_int_equal(flock(at_it, LOCK_EX), 0);
	assert_int_equal(spare_tidy(p->state, -1, &e), 0);
	drop_fd(&at_it);
	assert_int_equal(spare_tidy(p->state, -1, &e), 1);
}

static void cleared_shelf_is_empty(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	assert_int_equal(spare_clear(p->state, &e), 0);
	assert_int_equal(layers_remove(p->session, &e), 0);
	sh(p, "cd cache/vacant; cp -r * gone; mkdir 0000000000000001 0000000000000002.tidy");
	assert_int_equal(spare_clear(p->state, &e), 3);
	sh(p, "test -z \"$(ls -A cache/vacant)\"");
}

/* Run `test` as nobody, who owns the place and has subordinate ids (see main). */
static void as_nobody(struct place *p, int (*test)(struct place *p))
{
	int status;
	pid_t pid;

	session_close(p->session);
	p->session = NULL;
	sh(p, "rm -rf sessions; chown -R 65534:65534 .");
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
			_exit(99);
		_exit(test(p));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int chown_to_subordinates(void *arg, struct err *e)
{
	const struct place *p = arg;
	struct stat st;

	(void)e;
	if (getuid() != 0 || stat(p->path, &st) < 0)
		return -1;
	sh(p,
	   "cd sessions/" ID
	   "/layers/workspace/upper; mkdir -p d/e; echo x >d/e/f; echo x >d/g; chown -R 1000:1000 d;"
	   "chmod 700 d; chmod 1777 .; echo z >h; chown 5:5 h; chmod 000 h; mkdir -m 000 ../work/work");
	return 0;
}

static int count_it(const struct change *c, void *arg)
{
	(void)c;
	(*(int *)arg)++;
	return 0;
}

static int reads_and_removes_what_subordinate_ids_own(struct place *p)
{
	struct session *s = make_session(p, IDS_SUBIDS);
	struct change_counts n = { 0 };
	struct err e = { 0 };
	int calls = 0;

	sh(p,
	   "mkdir -p sessions/" ID "/layers/workspace/upper sessions/" ID "/layers/workspace/work");
	if (idhelper_run(&s->record.session_uids, &s->record.session_gids, chown_to_subordinates, p,
			 &e) < 0)
		fail_msg("%s", e.text);
	if (changes_count(s, &n, &e) < 0 ||
	    changes_read(s, CHANGES_FILES, count_it, &calls, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(n.added, 3);
	assert_int_equal(calls, 3);
	if (layers_remove(s, &e) < 0)
		fail_msg("%s", e.text);
	assert_false(is_there(p));
	session_close(s);
	return 0;
}

static void layers_of_subordinate_ids_are_read_and_removed_by_their_root(void **state)
{
	if (geteuid() != 0 || access("/usr/bin/newuidmap", X_OK) < 0)
		skip();
	as_nobody(*state, reads_and_removes_what_subordinate_ids_own);
}

static int reads_what_its_single_id_shut(struct place *p)
{
	struct session *s = make_session(p, IDS_SINGLE);
	struct change_counts n = { 0 };
	struct err e = { 0 };

	sh(p, "mkdir -p sessions/" ID "/layers/workspace/upper/d; cd sessions/" ID
	      "/layers/workspace/upper; echo 1 >d/f; chmod 000 d");
	if (changes_count(s, &n, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(n.added, 1);
	if (layers_remove(s, &e) < 0)
		fail_msg("%s", e.text);
	assert_false(is_there(p));
	session_close(s);
	return 0;
}

static void layers_of_one_id_are_read_where_their_owner_shut_them(void **state)
{
	if (geteuid() != 0)
		skip();
	as_nobody(*state, reads_what_its_single_id_shut);
}

static int asks_for_ids_of_others(struct place *p)
{
	struct id_map map = { .range = { { 0, NOBODY, 1 }, { 1, 1, 1000 } }, .n = 2 };
	struct err e = { 0 };

	assert_true(idhelper_run(&map, &map, chown_to_subordinates, p, &e) < 0);
	assert_non_null(strstr(e.text, "newuidmap"));
	assert_non_null(strstr(e.text, "/etc/subuid"));
	return 0;
}

static void ids_of_others_are_refused_with_the_words_of_newuidmap(void **state)
{
	if (geteuid() != 0 || access("/usr/bin/newuidmap", X_OK) < 0)
		skip();
	as_nobody(*state, asks_for_ids_of_others);
}

static int fail_on_purpose(void *arg, struct err *e)
{
	(void)arg;
	return err_code(e, EXDEV, "on purpose");
}

static int die(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	_exit(3);
}

static void error_of_a_helper_comes_back_and_its_death_is_told(void **state)
{
	struct id_map uids = { .range = { { 0, geteuid(), 1 } }, .n = 1 },
		      gids = { .range = { { 0, getegid(), 1 } }, .n = 1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(idhelper_run(&uids, &gids, fail_on_purpose, NULL, &e), -EXDEV);
	assert_string_equal(e.text, "on purpose");
	assert_int_equal(idhelper_run(&uids, &gids, die, NULL, &e), -ECHILD);
}

/* /etc/subuid and subgid of this mount namespace give nobody a range. */
static int lend_subordinate_ids(void)
{
	static const char *const files[] = { "/etc/subuid", "/etc/subgid" };
	static const char text[] = "nobody:200000:65536\n";
	char path[] = "/tmp/test-subids-XXXXXX";
	int fd = mkstemp(path), result = 0;

	if (fd < 0 || fchmod(fd, 0644) < 0 || write(fd, text, sizeof(text) - 1) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (mount(path, files[i], NULL, MS_BIND, NULL) < 0)
			result = -1;
	(void)close(fd);
	(void)unlink(path);
	return result;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(layers_get_the_mode_below_them_and_the_owner_inside),
		TEST(base_layers_come_in_their_order_and_objects_as_mounts_of_their_own),
		TEST(what_is_no_file_is_not_bound),
		TEST(device_files_and_directories_are_bound_and_let_go),
		TEST(link_in_place_of_what_the_caller_named_is_refused),
		TEST(missing_layer_is_named),
		TEST(removed_session_leaves_nothing_and_may_be_removed_again),
		TEST(what_a_volatile_mount_leaves_is_removed),
		TEST(kept_layer_can_be_mounted_again),
		TEST(layer_that_was_not_written_to_serves_the_next_session),
		TEST(layer_that_a_session_marked_does_not_reach_the_next),
		TEST(layer_that_was_written_to_goes_at_once),
		TEST(spare_directory_tells_nothing_of_the_session_that_had_it),
		TEST(who_waits_for_an_ended_session_does_not_find_the_next),
		TEST(spare_directories_rest_before_they_are_tidied_and_used),
		TEST(spare_directory_is_not_tidied_by_two),
		TEST(tidying_ends_when_somebody_waits_and_is_gone_on_with),
		TEST(cleared_shelf_is_empty),
		TEST(layers_of_subordinate_ids_are_read_and_removed_by_their_root),
		TEST(layers_of_one_id_are_read_where_their_owner_shut_them),
		TEST(ids_of_others_are_refused_with_the_words_of_newuidmap),
		TEST(error_of_a_helper_comes_back_and_its_death_is_told),
	};

	(void)umask(022);
	if (geteuid() == 0 && (unshare(CLONE_NEWNS) < 0 || lend_subordinate_ids() < 0)) {
		perror("a private mount namespace");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
