/* SPDX-License-Identifier: MIT */
/* gitdir.c - see gitdir.h. The directory itself is written by ohsandbox-git (src/git/layer.c). */
#include "session/gitdir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sha256.h"

/* Raised when ohsandbox-git writes something else for the same input. */
#define GITDIR_FORMAT 1

static void add_text(struct sha256 *s, const char *text)
{
	sha256_add(s, text ? "1" : "0", 1);
	if (text)
		sha256_add(s, text, strlen(text) + 1);
}

int gitdir_name(const struct plan *p, const struct repo *r, const struct head *h,
		const int *objects, unsigned n_objects, char out[GITDIR_NAME_BYTES], struct err *e)
{
	const uint8_t fixed[] = { GITDIR_FORMAT, p->reachable_objects, (uint8_t)n_objects };
	char fingerprint[HEAD_FINGERPRINT_BYTES], hex[SHA256_HEX_BYTES];
	struct sha256 s;
	struct stat st;

	if (head_fingerprint(r, fingerprint, e) < 0)
		return -e->code;
	sha256_init(&s);
	sha256_add(&s, fixed, sizeof(fixed));
	sha256_add(&s, fingerprint, sizeof(fingerprint));
	add_text(&s, h->ref);
	add_text(&s, p->policy->git_name);
	add_text(&s, p->policy->git_email);
	add_text(&s, p->host->git_name);
	add_text(&s, p->host->git_email);
	for (unsigned i = 0; i < n_objects; i++) {
		if (fstat(objects[i], &st) < 0)
			return err_errno(e, "stat an object directory of '%s'", r->path);
		sha256_add(&s, &st.st_dev, sizeof(st.st_dev));
		sha256_add(&s, &st.st_ino, sizeof(st.st_ino));
	}
	sha256_end_hex(&s, hex);
	(void)snprintf(out, GITDIR_NAME_BYTES, "git-%.32s", hex);
	return 0;
}

int gitdir_arguments(const struct plan *p, const struct head *h, const char **argv, unsigned room,
		     struct err *e)
{
	const char *const pairs[][2] = {
		{ "--ref", h->ref },
		{ "--name", p->policy->git_name },
		{ "--email", p->policy->git_email },
		{ "--default-name", p->host->git_name },
		{ "--default-email", p->host->git_email },
	};
	unsigned n = 0;

	while (argv[n])
		n++;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (!pairs[i][1])
			continue;
		if (n + 4 > room)
			return err_code(e, E2BIG, "too many arguments for ohsandbox-git");
		argv[n++] = pairs[i][0];
		argv[n++] = pairs[i][1];
	}
	if (p->reachable_objects)
		argv[n++] = "--reachable";
	argv[n] = NULL;
	return 0;
}
