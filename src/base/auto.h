/* SPDX-License-Identifier: MIT */
/* auto.h - what a scope owns, it declares: released on every way out.
 *
 *	autofree char *name = NULL;
 *	autoclose int fd = -1;
 *	return take_fd(&fd);		passes the ownership on, visibly
 */
#pragma once

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))

static inline void auto_free(void *p)
{
	free(*(void **)p);
}

static inline void auto_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* nothing is left to do about an error here */
}

static inline void auto_closedir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

#define autofree __attribute__((cleanup(auto_free)))
#define autoclose __attribute__((cleanup(auto_close)))
#define autodir __attribute__((cleanup(auto_closedir)))

/* Hand over a descriptor that this scope no longer owns. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Close now instead of at the end of the scope. */
static inline void drop_fd(int *fd)
{
	auto_close(fd);
	*fd = -1;
}

/* Hand over a heap pointer that this scope no longer owns. */
#define take_ptr(p)                             \
	({                                      \
		__typeof__(*(p)) taken_ = *(p); \
		*(p) = NULL;                    \
		taken_;                         \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
