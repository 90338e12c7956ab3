/* SPDX-License-Identifier: MIT */
/* resolvers.c - see resolvers.h. */
#include "session/resolvers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"

#define FILE_MAX ((size_t)64 << 10)

/* Whether a session could ask it: an IPv4 address that is not loopback's or nobody's. */
static bool parse_address(const char *text, size_t len, uint32_t *address)
{
	char copy[INET_ADDRSTRLEN];
	struct in_addr a;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET, copy, &a) != 1)
		return false;
	*address = ntohl(a.s_addr);
	return *address >> 24 != 127 && *address >> 24 != 0;
}

void resolvers_parse(const char *text, struct resolvers *out)
{
	static const char key[] = "nameserver";

	out->n = 0;
	while (*text && out->n < RESOLVERS_MAX) {
		const char *next = text + strcspn(text, "\n");

		if (strncmp(text, key, sizeof(key) - 1) == 0) {
			const char *value = text + sizeof(key) - 1;
			size_t blanks = strspn(value, " \t");

			value += blanks;
			if (blanks &&
			    parse_address(value, strcspn(value, " \t\r\n"), &out->address[out->n]))
				out->n++;
		}
		text = *next ? next + 1 : next;
	}
}

static int named_resolvers(char *const *named, struct resolvers *out, struct err *e)
{
	struct resolvers found = { .n = 0 };

	for (; *named; named++) {
		if (found.n == RESOLVERS_MAX)
			return err_code(e, E2BIG, "resolvers: at most %u", RESOLVERS_MAX);
		if (!parse_address(*named, strlen(*named), &found.address[found.n++]))
			return err_code(
				e, EINVAL,
				"resolvers: '%s' is not an IPv4 address that a session can reach",
				*named);
	}
	*out = found;
	return 0;
}

int resolvers_find(char *const *named, struct resolvers *out, struct err *e)
{
	static const char *const files[] = { "/etc/resolv.conf",
					     "/run/systemd/resolve/resolv.conf" };
	struct resolvers found = { .n = 0 };

	if (named)
		return named_resolvers(named, out, e);
	for (unsigned i = 0; i < ARRAY_LEN(files) && !found.n; i++) {
		autobuf struct buf text = { 0 };
		autoclose int fd = open(files[i], O_RDONLY | O_CLOEXEC | O_NOCTTY);

		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		if (fd < 0)
			return err_errno(e, "open '%s'", files[i]);
		if (io_read_all(fd, FILE_MAX, &text, e) < 0)
			return err_wrap(e, "%s", files[i]);
		resolvers_parse(buf_str(&text), &found);
	}
	*out = found;
	return 0;
}

void resolvers_text(const struct resolvers *r, struct buf *out)
{
	for (unsigned i = 0; i < r->n; i++) {
		uint32_t a = r->address[i];

		buf_printf(out, "nameserver %u.%u.%u.%u\n", a >> 24, a >> 16 & 255, a >> 8 & 255,
			   a & 255);
	}
}
