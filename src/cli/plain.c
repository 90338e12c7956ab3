/* SPDX-License-Identifier: MIT */
/* plain.c - see plain.h. */
#include "cli/plain.h"

#include <errno.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/io.h"

#define LEAD 0xc2 /* of U+0080 to U+00BF in UTF-8 */
#define PIECE_BYTES 16384

static void add_byte(struct buf *out, unsigned char c)
{
	if ((c >= 0x20 && c != 0x7f) || c == '\t' || c == '\n') {
		buf_putc(out, (char)c);
		return;
	}
	buf_putc(out, '^');
	buf_putc(out, (char)(c ^ 0x40));
}

void plain_add(struct plain *p, struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (p->led && c >= 0x80 && c < 0xa0) {
			buf_printf(out, "<U+00%02X>", c);
			p->led = false;
			continue;
		}
		plain_end(p, out);
		p->led = c == LEAD;
		if (!p->led)
			add_byte(out, c);
	}
}

void plain_end(struct plain *p, struct buf *out)
{
	if (p->led)
		buf_putc(out, (char)LEAD);
	p->led = false;
}

int plain_copy(int from, int to, struct err *e)
{
	struct plain p = { .led = false };
	char piece[PIECE_BYTES];
	ssize_t n;

	do {
		autobuf struct buf out = { 0 };

		n = read(from, piece, sizeof(piece));
		if (n < 0 && errno != EINTR)
			return err_errno(e, "read what is to be shown");
		if (n > 0)
			plain_add(&p, &out, piece, (size_t)n);
		else if (n == 0)
			plain_end(&p, &out);
		if (buf_check(&out, e) < 0 || io_write_all(to, buf_str(&out), out.len, e) < 0)
			return -e->code;
	} while (n != 0);
	return 0;
}
