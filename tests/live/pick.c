/* SPDX-License-Identifier: MIT */
/* pick.c - one scalar out of JSON, as `jq -r .a.b [FILE]` prints it.
 *
 *	pick .MEMBER[.MEMBER...] [FILE]
 *
 * jq takes 30 ms to start, and this is what tests ask of it most. What is not that simple (a list, a
 * fraction, several values) goes on to jq. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"

#define BYTES_MAX (256UL << 20)

static const struct json_limits limits = { .bytes = BYTES_MAX, .depth = 128, .values = 10000000 };

static const struct json *follow(const struct json *at, const char *path)
{
	char key[256];

	while (at && *path == '.') {
		size_t len = strcspn(++path, ".");

		if (at->type != JSON_OBJECT || len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		at = json_get(at, key);
		path += len;
	}
	return at;
}

/* Returns whether this is all jq would print. */
static bool print(const struct json *value)
{
	if (!value)
		return false;
	switch (value->type) {
	case JSON_NULL:
		return puts("null") >= 0;
	case JSON_BOOL:
		return puts(value->boolean ? "true" : "false") >= 0;
	case JSON_INT:
		return printf("%lld\n", (long long)value->integer) >= 0;
	case JSON_STRING:
		(void)fwrite(value->string.bytes, 1, value->string.len, stdout);
		return putchar('\n') >= 0;
	default:
		return false;
	}
}

static int ask_jq(const char *path, const struct buf *text)
{
	int fd = memfd_create("json", MFD_CLOEXEC);
	struct err e = { 0 };

	if (fd < 0 || io_write_all(fd, text->data, text->len, &e) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0) {
		perror("pick");
		return 2;
	}
	(void)execlp("jq", "jq", "-r", path, (char *)NULL);
	perror("pick: jq");
	return 127;
}

int main(int argc, char **argv)
{
	autojson struct json_doc *doc = NULL;
	autobuf struct buf text = { 0 };
	struct err e = { 0 };
	int fd = STDIN_FILENO;

	if (argc < 2 || argc > 3)
		return fputs("usage: pick .MEMBER[.MEMBER...] [FILE]\n", stderr), 2;
	if (argc == 3)
		fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[2]);
		return 2;
	}
	if (io_read_all(fd, BYTES_MAX, &text, &e) < 0)
		return fprintf(stderr, "pick: %s\n", e.text), 2;
	if (json_parse(buf_str(&text), text.len, &limits, &doc, &e) == 0 &&
	    print(follow(json_root(doc), argv[1])))
		return 0;
	return ask_jq(argv[1], &text);
}
