/* SPDX-License-Identifier: MIT */
/* kernel_wire.c - see kernel_wire.h. */
#include "sandbox/executor/kernel_wire.h"

#include <errno.h>
#include <string.h>

static void put_number(struct buf *out, size_t n)
{
	const char bytes[] = { (char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n };

	buf_add(out, bytes, sizeof(bytes));
}

static uint32_t number(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

void kernel_cell_encode(const struct kernel_cell *cell, struct buf *out)
{
	put_number(out, cell->sequence);
	put_number(out, cell->interrupts);
	put_number(out, strlen(cell->cwd));
	put_number(out, cell->first.len);
	put_number(out, cell->code.len);
	buf_puts(out, cell->cwd);
	buf_add(out, cell->first.at, cell->first.len);
	buf_add(out, cell->code.at, cell->code.len);
}

static const struct {
	enum kernel_said said;
	uint32_t min, max; /* bytes behind the head */
} replies[] = {
	{ KERNEL_SAID_UP, 0, KERNEL_PATH_MAX },
	{ KERNEL_SAID_IMAGE, 1, KERNEL_REPLY_MAX },
	{ KERNEL_SAID_DONE, 4, 4 },
};

long kernel_reply_decode(const char *bytes, size_t len, struct kernel_reply *r)
{
	uint32_t size;

	if (!len)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
		if ((char)replies[i].said != bytes[0])
			continue;
		if (len < KERNEL_HEAD_BYTES)
			return 0;
		size = number(bytes + 1);
		if (size < replies[i].min || size > replies[i].max)
			return -EPROTO;
		if (len - KERNEL_HEAD_BYTES < size)
			return 0;
		*r = (struct kernel_reply) { .said = replies[i].said,
					     .text = { bytes + KERNEL_HEAD_BYTES, size } };
		if (r->said == KERNEL_SAID_DONE)
			r->sequence = number(r->text.at);
		return KERNEL_HEAD_BYTES + (long)size;
	}
	return -EPROTO;
}
