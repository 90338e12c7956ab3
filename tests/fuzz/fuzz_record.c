/* SPDX-License-Identifier: MIT */
/* fuzz_record.c - records and journals of any bytes; what is taken must come back the same.
 *
 * The first byte chooses: 'j' for a journal, anything else begins a record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* write(parse(text)) is a fixed point. */
static void round_trip(const struct record *r)
{
	autobuf struct buf one = { 0 }, two = { 0 };
	struct record back = { 0 };
	struct err e = { 0 };

	record_write(r, &one);
	if (buf_check(&one, &e) < 0 || one.len > RECORD_BYTES_MAX)
		return;
	if (record_parse(one.data, one.len, &back, &e) < 0)
		abort();
	record_write(&back, &two);
	if (strcmp(buf_str(&one), buf_str(&two)) != 0)
		abort();
	record_clear(&back);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct record r = { .id = "0123456789ab", .slot = SESSION_NO_SLOT };
	struct err e = { 0 };

	if (size && data[0] == 'j') {
		if (record_apply_journal(&r, (const char *)data + 1, size - 1, &e) == 0)
			round_trip(&r);
		record_clear(&r);
	} else if (record_parse((const char *)data, size, &r, &e) == 0) {
		round_trip(&r);
		record_clear(&r);
	}
	return 0;
}
