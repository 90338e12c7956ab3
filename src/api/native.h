/* SPDX-License-Identifier: MIT */
/* native.h - /v1: the API of our own beside that of OpenHands' clients; docs/openapi.json. */
#pragma once

#include "api/operation.h"
#include "api/server.h"

enum native_limits {
	NATIVE_EXEC_BODY_MAX = 1 << 20,
	NATIVE_REPLY_MAX = 16 << 20,  /* of an executor: with the command in it twice, escaped */
	NATIVE_EXEC_MS = 3600 * 1000, /* longest that a command may take */
	NATIVE_EXEC_DEFAULT_MS = 120 * 1000,
	NATIVE_STREAMS_MAX = 32, /* of events, at once */
	NATIVE_BEAT_MS = 15000,	 /* between signs of life on one of them */
};

/* A session as /v1 shows it. */
void native_json(struct json_out *o, const char *key, const struct runtime *r);

/* A template, as V1's application server reads warm configurations. */
void template_json(struct json_out *o, const struct session_template *t);

void native_list(struct server *s, struct conn *c, const char *body, size_t len);
void native_create(struct server *s, struct conn *c, const char *body, size_t len);
void native_show(struct server *s, struct conn *c, const char *body, size_t len);
void native_stop(struct server *s, struct conn *c, const char *body, size_t len);
void native_pause(struct server *s, struct conn *c, const char *body, size_t len);
void native_resume(struct server *s, struct conn *c, const char *body, size_t len);
void native_exec(struct server *s, struct conn *c, const char *body, size_t len);
void native_diff(struct server *s, struct conn *c, const char *body, size_t len);
void native_files(struct server *s, struct conn *c);
void native_events(struct server *s, struct conn *c, const char *body, size_t len);
void native_session_events(struct server *s, struct conn *c, const char *body, size_t len);

/* In route.c: the session that the path names; replies 404 where there is none. */
struct runtime *api_session(struct server *s, struct conn *c);
void api_start(struct server *s, struct conn *c, const char *text, size_t len,
	       enum answer_kind answer);
