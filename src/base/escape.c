/* SPDX-License-Identifier: MIT */
/* escape.c - see escape.h. */
#include "base/escape.h"

#include <errno.h>

int escape_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

void escape_text(const char *text, struct buf *out)
{
	buf_reset(out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c >= 0x7f || c == '%')
			buf_printf(out, "%%%02x", c);
		else
			buf_putc(out, (char)c);
	}
}

int escape_undo(char *text, struct err *e)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = escape_hex_digit(text[1]);
		low = high < 0 ? -1 : escape_hex_digit(text[2]);
		if (low < 0 || (high == 0 && low == 0))
			return err_code(e, EINVAL, "'%.10s' is no escaped byte", text);
		*to++ = (char)(high << 4 | low);
		text += 2;
	}
	*to = '\0';
	return 0;
}
