/* SPDX-License-Identifier: MIT */
/* filter_cache.c - a filter is made once for a policy's rules, a library and an architecture. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "base/log.h"
#include "base/sha256.h"
#include "plan/filter.h"
#include "plan/filter_join.h"

#define FILTER_FORMAT 2 /* of the parts and how they are joined; see filter.c */

#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#define ARCHITECTURE_AUDIT AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#define ARCHITECTURE_AUDIT AUDIT_ARCH_AARCH64
#else
#error "ohsandbox builds filters for x86_64 and aarch64"
#endif

static void hash_text(struct sha256 *s, const char *text)
{
	sha256_add(s, text, strlen(text) + 1);
}

static void hash_walls(struct sha256 *s)
{
	size_t n;
	const struct filter_wall *walls = filter_walls(&n);

	for (size_t i = 0; i < n; i++) {
		uint64_t numbers[] = { walls[i].action, walls[i].error, walls[i].n_args,
				       walls[i].when };

		hash_text(s, walls[i].calls);
		sha256_add(s, numbers, sizeof(numbers));
		for (unsigned a = 0; a < walls[i].n_args; a++) {
			const struct seccomp_arg *arg = &walls[i].args[a];
			uint64_t words[] = { arg->index, (uint64_t)arg->op, arg->value, arg->mask };

			sha256_add(s, words, sizeof(words));
		}
	}
}

/* "filter-" and half of a digest: what it depends on, nothing else. */
static void cache_name(const struct policy *p, bool single_id, char *name, size_t size)
{
	uint32_t numbers[] = { FILTER_FORMAT, single_id, p->nested_userns };
	char hex[SHA256_HEX_BYTES];
	char library[40];
	struct sha256 s;

	filter_library(library, sizeof(library));
	sha256_init(&s);
	hash_text(&s, p->rules_digest);
	hash_text(&s, library);
	hash_text(&s, ARCHITECTURE);
	sha256_add(&s, numbers, sizeof(numbers));
	hash_walls(&s);
	sha256_end_hex(&s, hex);
	snprintf(name, size, "filter-%.32s", hex);
}

static int seal(const void *bytes, size_t size, int *memfd, struct err *e)
{
	autoclose int fd = memfd_create("ohsandbox-filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_errno(e, "seccomp: make a memory file");
	if (io_write_all(fd, bytes, size, e) < 0)
		return err_wrap(e, "seccomp");
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_errno(e, "seccomp: seal the filter");
	*memfd = take_fd(&fd);
	return 0;
}

/* 1 when it was there. A file that cannot be a filter is made anew. */
static int from_cache(int cache_dir, const char *name, int *memfd, struct err *e)
{
	struct sock_filter program[FILTER_INSTRUCTIONS_MAX + 1];
	autoclose int file = openat(cache_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct err ignored = { 0 };
	ssize_t size;

	if (file < 0)
		return errno == ENOENT ? 0
				       : err_errno(e, "seccomp: open the cached filter %s", name);
	size = io_read_full(file, program, sizeof(program), &ignored);
	if (size <= 0 || (size_t)size > sizeof(program) - sizeof(*program) ||
	    size % (ssize_t)sizeof(*program))
		return 0;
	return seal(program, (size_t)size, memfd, e) < 0 ? -e->code : 1;
}

bool filter_lets_send(int memfd)
{
	struct sock_filter program[FILTER_INSTRUCTIONS_MAX];
	const struct seccomp_data call = { .nr = SYS_sendmsg,
					   .arch = ARCHITECTURE_AUDIT,
					   .args = { 3, 0, MSG_NOSIGNAL } };
	ssize_t size = pread(memfd, program, sizeof(program), 0);

	return size > 0 && bpf_run(program, (size_t)size / sizeof(*program), &call, sizeof(call)) ==
				   SECCOMP_RET_ALLOW;
}

int filter_bytes(const struct policy *p, bool single_id, int cache_dir, int *memfd, struct err *e)
{
	struct sock_filter *program = NULL;
	struct err not_kept = { 0 };
	char name[48];
	size_t len;
	int ret = 0;

	cache_name(p, single_id, name, sizeof(name));
	if (cache_dir >= 0)
		ret = from_cache(cache_dir, name, memfd, e);
	if (ret != 0)
		return ret < 0 ? ret : 0;
	if (filter_build(p, single_id, &program, &len, e) < 0)
		return -e->code;
	/* A full disk costs the next start some milliseconds, no more. */
	if (cache_dir >= 0 &&
	    io_replace_file(cache_dir, name, program, len * sizeof(*program), 0600, &not_kept) < 0)
		log_debug("the filter is not kept: %s", not_kept.text);
	ret = seal(program, len * sizeof(*program), memfd, e);
	free(program);
	return ret;
}
