/* SPDX-License-Identifier: MIT */
/* transfer.h - the endpoints that list, take and give files. Each request is done by a process of its
 * own, with the workload's ids, in its group and under its filter; the server moves bytes between it
 * and the client, in pieces, and reads the form that uploads come in. It touches no file. */
#pragma once

#include <stddef.h>

struct server;
struct conn;
struct procs;
struct transfer;

enum transfer_limits {
	TRANSFER_AT_ONCE = 8,	       /* processes; further requests wait, in order */
	TRANSFER_PATIENCE_MS = 60000,  /* with no byte taken or given by the process */
	TRANSFER_FINISH_MS = 600000,   /* for a tree to be looked through, or an archive unpacked */
	TRANSFER_LIST_BODY = 64 * 1024 /* bytes of a request to list a directory */
};

struct transfers {
	struct procs *procs;
	struct transfer *first;
	unsigned running, max;
};

/* With up to `max` processes at once. */
void transfers_init(struct transfers *ts, struct procs *procs, unsigned max);

/* POST /list_files, GET /download_files, POST /upload_file */
void transfer_list(struct server *s, struct conn *c, const char *body, size_t len);
void transfer_download(struct server *s, struct conn *c, const char *body, size_t len);
void transfer_upload(struct server *s, struct conn *c);
