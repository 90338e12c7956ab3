/* SPDX-License-Identifier: MIT */
/* fuzz_request.c - saved requests of any bytes; what is taken must come back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/request_json.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void write_it(const struct request *r, const struct request_policy *p, struct buf *out)
{
	struct policy policy = { .path = p->path, .texts = p->texts };

	request_write(r, &policy, out);
}

/* write(parse(text)) is a fixed point. */
static void round_trip(const struct request *r, const struct request_policy *p)
{
	autobuf struct buf one = { 0 }, two = { 0 };
	struct request_policy policy = { 0 };
	struct request back;
	struct err e = { 0 };

	write_it(r, p, &one);
	if (buf_check(&one, &e) < 0 || one.len > REQUEST_BYTES_MAX)
		return;
	if (request_parse(one.data, one.len, &back, &policy, &e) < 0)
		abort();
	write_it(&back, &policy, &two);
	if (strcmp(buf_str(&one), buf_str(&two)) != 0)
		abort();
	request_clear(&back);
	request_policy_clear(&policy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct request_policy p = { 0 };
	struct request r;
	struct err e = { 0 };

	if (request_parse((const char *)data, size, &r, &p, &e) < 0)
		return 0;
	round_trip(&r, &p);
	request_clear(&r);
	request_policy_clear(&p);
	return 0;
}
