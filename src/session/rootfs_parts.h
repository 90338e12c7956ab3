/* SPDX-License-Identifier: MIT */
/* rootfs_parts.h - the parts a skeleton is made of; for rootfs*.c and their tests alone. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"
#include "session/resolvers.h"

/* All that a skeleton depends on, besides the host's files. */
struct skeleton_spec {
	const struct policy_user *user;
	const char *hostname;
	char *const *certificates; /* host files; NULL-terminated, or NULL */
	struct resolvers resolvers;
	int sudo; /* the program of that name, opened; -1: none (a test) */
	const char *sudo_path;
	bool inside_owners; /* as root: files on disk belong to inside ids, as it is mounted idmapped */
	bool tree; /* it lies over a directory that was named as "/", not over the host's */
};

/* One being made. */
struct skeleton {
	const struct skeleton_spec *spec;
	int host;		 /* fd of the host's "/" (a test makes one up), or of the tree */
	int root;		 /* fd of the new directory */
	struct buf *index;	 /* what was looked at on the host: see index_add() */
	uint64_t bytes, entries; /* copied so far */
	bool packaged;		 /* the host has a package manager whose every work is seen */
};

/* ---- rootfs_index.c: stamps of host files, to see whether one has changed ---- */

/* Note how `path` (relative to the host's "/") looks: also that it is missing. */
void index_add(struct buf *index, int host, const char *path);

/* Does everything in it still look so? False for bytes that are no index, too. */
bool index_holds(const char *bytes, size_t len, int host);

/* ---- rootfs_table.c: what is there ---- */

enum copy_kind {
	COPY_FILE, /* a file or a symbolic link of this name; what else it is, is left out */
	COPY_TREE, /* a directory and all below it */
};

enum {
	COPY_STRIP = 1 << 0,  /* user:password@ is taken out of URLs */
	COPY_DEEP = 1 << 1,   /* edited in place by people: a change within a file is looked for */
	COPY_PREFIX = 1 << 2, /* every name in /etc that begins so */
};

struct copy_row {
	const char *path; /* below /etc */
	enum copy_kind kind;
	unsigned flags;
};

struct dir_row {
	const char *path; /* below / */
	mode_t mode;
};

struct link_row {
	const char *path, *text;
};

/* Rows until one with a NULL path. */
extern const struct copy_row rootfs_copies[];
extern const struct dir_row rootfs_dirs[];
extern const struct link_row rootfs_links[];

/* Is a file of this name left out of every tree? Keys, credentials, editors' backups. */
bool rootfs_is_private(const char *name);

/* ---- rootfs_copy.c ---- */

/* All of rootfs_copies, then the policy's certificates. */
must_check int skeleton_copy(struct skeleton *k, struct err *e);

/* One file of the host, by its path there, to a path of the skeleton. Left out, or with `must` an
 * error, where it is missing or not readable by everybody. */
must_check int skeleton_copy_file(struct skeleton *k, const char *from, const char *to, bool must,
				  struct err *e);

/* Where a certificate of the policy goes, below "/"; the caller frees it. NULL with *e. */
char *rootfs_certificate_path(const char *from, struct err *e);

/* Take the user and password out of every URL of a text, in place. Returns the new length. */
size_t rootfs_strip_credentials(char *text, size_t len);

/* ---- rootfs_text.c: what is generated ---- */

/* passwd, group, shadow, gshadow, hosts, hostname, resolv.conf, nsswitch.conf, machine-id ... */
must_check int skeleton_texts(struct skeleton *k, struct err *e);

/* hosts, hostname and resolv.conf, into the directory `etc` of the skeleton. */
must_check int skeleton_names(struct skeleton *k, const char *etc, struct err *e);

/* An nsswitch.conf that asks files and DNS alone. */
extern const char rootfs_nsswitch[];

/* The lines of the session's passwd and group, given the host's. Pure. */
void rootfs_passwd(const char *host_text, const struct policy_user *user, struct buf *passwd,
		   struct buf *shadow);
void rootfs_group(const char *host_text, const struct policy_user *user, struct buf *group,
		  struct buf *gshadow);

/* ---- rootfs_merge.c: a tree's own users stay ---- */

/* The tree's passwd or group with root, the session's user (or his group) and nobody in it. His line
 * comes before those of the same id, and instead of those of the same name. Pure. */
void rootfs_merge_passwd(const char *tree_text, const struct policy_user *user, struct buf *passwd);
void rootfs_merge_group(const char *tree_text, const struct policy_user *user, struct buf *group);

/* ---- rootfs_tree.c ---- */

/* Fill k->root with what a session needs on top of the tree that k->host is. */
must_check int skeleton_make_over(struct skeleton *k, struct err *e);

/* ---- rootfs_programs.c ---- */

/* The program itself, to a path of the skeleton. */
must_check int skeleton_sudo(struct skeleton *k, const char *path, struct err *e);

/* `sudo`, and `python` where the host has only a python3: in usr/local/bin, which PATH names first,
 * and as links in usr/bin, where package managers may put others in their place. */
must_check int skeleton_programs(struct skeleton *k, struct err *e);

/* ---- rootfs_make.c ---- */

/* Fill k->root; over a tree by skeleton_make_over(). */
must_check int skeleton_make(struct skeleton *k, struct err *e);

/* Write a file of the skeleton, owned by root inside. */
must_check int skeleton_write(struct skeleton *k, const char *path, const void *bytes, size_t len,
			      mode_t mode, struct err *e);
