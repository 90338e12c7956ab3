/* SPDX-License-Identifier: MIT */
/* gitlib.c - see gitlib.h. */
#include "git/gitlib.h"

#include <git2.h>
#include <stdarg.h>
#include <stdio.h>

/* libgit2 built with mbedtls reads the host's certificates when it starts, which takes it longer than
 * all that we want of it. We never talk to anybody: it shall find none. In builds with another
 * library nobody calls this. */
int mbedtls_x509_crt_parse_file(void *chain, const char *path);
int mbedtls_x509_crt_parse_file(void *chain, const char *path)
{
	(void)chain;
	(void)path;
	return -1;
}

int gitlib_start(struct err *e)
{
	static const int levels[] = { GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_GLOBAL,
				      GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_PROGRAMDATA };
	int r = git_libgit2_init();

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(levels); i++)
		r = git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
	/* Whose repository it is was decided before we were started. */
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	/* The owner's own objects, on their way to the owner's own session: hashing them again would
	 * cost more than all the rest. */
	if (r >= 0)
		r = git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	return r < 0 ? err_git(e, r, "start libgit2") : 0;
}

void gitlib_stop(void)
{
	(void)git_libgit2_shutdown();
}

static int code_of(int r)
{
	switch (r) {
	case GIT_ENOTFOUND:
		return ENOENT;
	case GIT_EEXISTS:
		return EEXIST;
	case GIT_EAMBIGUOUS:
		return ENOTUNIQ;
	case GIT_EINVALIDSPEC:
		return EINVAL;
	default:
		return EIO;
	}
}

int err_git(struct err *e, int r, const char *fmt, ...)
{
	const git_error *last = git_error_last();
	char text[ERR_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_code(e, code_of(r), "%.200s: %.180s", text,
			last && last->message ? last->message : "unknown error");
}

int gitlib_open(const struct repo *r, struct git_repository **out, struct err *e)
{
	int n = git_repository_open_ext(out, r->path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	if (n == 0)
		return 0;
	(void)err_git(e, n, "open repository '%s'", r->path);
	e->code = ENOTSUP;
	return -ENOTSUP;
}
