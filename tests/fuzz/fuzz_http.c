/* SPDX-License-Identifier: MIT */
/* fuzz_http.c - any bytes as a request: every part that comes out lies within them, the answer
 * does not depend on how the body arrives, and the control plane's key is gone. */
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

#define CHECK(ok)                         \
	do {                              \
		if (!(ok))                \
			__builtin_trap(); \
	} while (0)

static void lies_within(struct http_text t, const char *bytes, size_t len)
{
	CHECK(!t.at || (t.at >= bytes && t.len <= len && t.at + t.len <= bytes + len));
}

/* The body in pieces of `step`; returns the verdict and adds up what came. */
static int body(const char *bytes, size_t len, size_t step, size_t *consumed, unsigned *sum)
{
	struct http_chunks c = { 0 };
	int ret = 0;

	*sum = 0;
	for (*consumed = 0; *consumed < len && ret == 0;) {
		size_t used, n = len - *consumed < step ? len - *consumed : step;
		struct http_text data;

		ret = http_chunks(&c, bytes + *consumed, n, &used, &data);
		if (ret < 0)
			return ret;
		CHECK(used && used <= n);
		lies_within(data, bytes + *consumed, n);
		for (size_t i = 0; i < data.len; i++)
			*sum = *sum * 31 + (unsigned char)data.at[i];
		*consumed += used;
	}
	return ret;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *bytes = malloc(size + 1);
	struct http_request r;
	size_t first, second;
	unsigned sum1, sum2;
	int verdict;
	long n;

	CHECK(bytes);
	memcpy(bytes, data, size);
	n = http_head(bytes, size, HTTP_KEY_SESSION, &r);
	CHECK(n <= (long)size);
	if (n > 0) {
		lies_within(r.method, bytes, (size_t)n);
		lies_within(r.path, bytes, (size_t)n);
		lies_within(r.query, bytes, (size_t)n);
		lies_within(r.key, bytes, (size_t)n);
		lies_within(r.content_type, bytes, (size_t)n);
		CHECK(r.path.len && r.path.at[0] == '/' && r.method.len);
		CHECK(!r.chunked || !r.length);
		if (r.query.at) {
			struct buf value = { 0 };

			CHECK(!http_query(r.query, "a", &value) || value.len < r.query.len);
			buf_clear(&value);
		}
		verdict = body(bytes + n, size - (size_t)n, size, &first, &sum1);
		CHECK(verdict == body(bytes + n, size - (size_t)n, 1, &second, &sum2));
		CHECK(verdict < 0 || (first == second && sum1 == sum2));
	}
	free(bytes);
	return 0;
}
