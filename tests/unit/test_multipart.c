/* SPDX-License-Identifier: MIT */
#include "http/multipart.h"

#include "unit.h"

#define TYPE "multipart/form-data; boundary=cut"

/* What a body says, as one text: "<name|filename|bytes>" a part, "." at its end, "!why" where it
 * is refused, "?" where bytes are missing. It comes in steps of `step` bytes. */
static const char *said(const char *body, size_t len, size_t step)
{
	static char text[20000];
	struct http_text type = { .at = TYPE, .len = sizeof(TYPE) - 1 };
	struct multipart_found f;
	struct multipart m;
	struct err e = { 0 };
	size_t at = 0, there = 0, n = 0;

	assert_ok(multipart_begin(&m, type, &e));
	for (;;) {
		enum multipart_event event = multipart_next(&m, body + at, there - at, &f, &e);

		switch (event) {
		case MULTIPART_PART:
			n += (size_t)sprintf(text + n, "<%s|%s|", f.name,
					     f.has_filename ? f.filename : "-");
			break;
		case MULTIPART_DATA:
			memcpy(text + n, body + at, f.used);
			n += f.used;
			break;
		case MULTIPART_PART_END:
			text[n++] = '>';
			break;
		case MULTIPART_END:
			(void)strcpy(text + n, ".");
			return text;
		case MULTIPART_BAD:
			(void)sprintf(text + n, "!%s", e.text);
			return text;
		case MULTIPART_MORE:
			if (there == len) {
				(void)strcpy(text + n, "?");
				return text;
			}
			there = there + step < len ? there + step : len;
		}
		at += f.used;
	}
}

static void says(const char *body, const char *expected)
{
	size_t len = strlen(body);

	for (size_t step = 1; step <= len; step++)
		assert_string_equal(said(body, len, step), expected);
}

#define FILE_HEAD "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"

static void a_file_comes_out_as_it_went_in(void **state)
{
	(void)state;
	says("--cut\r\n" FILE_HEAD "hello\r\n--cut--\r\n", "<file|a.txt|hello>.");
	says("\r\n--cut\r\n" FILE_HEAD "hello\r\n--cut--", "<file|a.txt|hello>.");
	says("--cut\r\n" FILE_HEAD "\r\n--cut--", "<file|a.txt|>.");
	says("--cut--", ".");
}

static void what_is_nearly_a_boundary_is_of_the_file(void **state)
{
	(void)state;
	says("--cut\r\n" FILE_HEAD "a\r\n--cu\r\r\n--cu\r\n-\r\n\r\n--cut--",
	     "<file|a.txt|a\r\n--cu\r\r\n--cu\r\n-\r\n>.");
	says("--cut\r\n" FILE_HEAD "--cut--\r\n--cut--", "<file|a.txt|--cut-->.");
}

static void several_parts_come_in_order(void **state)
{
	(void)state;
	says("--cut\r\ncontent-disposition:form-data;name=x\r\nA: b\r\n\r\n1\r\n--cut\r\n" FILE_HEAD
	     "2\r\n--cut--",
	     "<x|-|1><file|a.txt|2>.");
}

static void what_follows_the_end_is_ignored(void **state)
{
	(void)state;
	says("--cut\r\n" FILE_HEAD "1\r\n--cut--\r\nrest\r\n--cut\r\n", "<file|a.txt|1>.");
}

static void a_body_that_is_cut_short_has_no_end(void **state)
{
	static const char body[] = "--cut\r\n" FILE_HEAD "hello\r\n--cut--";
	size_t len = sizeof(body) - 1;

	(void)state;
	for (size_t n = 0; n < len; n++) {
		const char *text = said(body, n, 7);

		assert_int_equal(text[strlen(text) - 1], '?');
	}
}

/* A part with this Content-Disposition, and what comes out of it. */
static void named(const char *value, const char *expected)
{
	char body[12000];

	(void)snprintf(body, sizeof(body), "--cut\r\nContent-Disposition: %s\r\n\r\n\r\n--cut--",
		       value);
	assert_string_equal(said(body, strlen(body), SIZE_MAX / 2), expected);
}

static void names_are_read_as_clients_write_them(void **state)
{
	(void)state;
	named("form-data; name=\"f\"; filename=\"a \\\"b\\\" \\\\ c\\d;e\"",
	      "<f|a \"b\" \\ c\\d;e|>.");
	named("form-data; name=f; filename=a b ;", "<f|a b|>.");
	named("FORM-DATA ;NAME=\"f\" ; FILENAME=\"\"", "<f||>.");
	named("form-data; name=\"f\"; filename*=UTF-8''%e2%82%ac%20.txt",
	      "<f|\xe2\x82\xac .txt|>.");
	named("form-data; name=\"f\"; filename*=utf-8''x; filename=\"y\"", "<f|y|>.");
	named("form-data; name=\"f\"; filename=\"y\"; filename*=utf-8'en'x", "<f|y|>.");
	named("form-data; name=\"f\"; filename=\"\xc3\xbc%22\"", "<f|\xc3\xbc%22|>.");
}

static void names_that_could_be_read_differently_are_refused(void **state)
{
	static const struct {
		const char *value, *why;
	} bad[] = {
		{ "attachment; name=f", "is no form-data" },
		{ "form-data", "has no name" },
		{ "form-data; filename=x", "has no name" },
		{ "form-data; name=f; name=g", "has two names" },
		{ "form-data; name=f; filename=a; filename=b", "has two filenames" },
		{ "form-data; name=f; filename*=utf-8''a; filename*=utf-8''b",
		  "has two filenames" },
		{ "form-data; name=f; filename*=latin1''a", "has a 'filename*' that is not UTF-8" },
		{ "form-data; name=f; filename*=utf-8''%0", "has a 'filename*' that is not UTF-8" },
		{ "form-data; name=f; filename*=utf-8''a%00b",
		  "has a 'filename*' that is not UTF-8" },
		{ "form-data; name=f; filename=\"\xff\"", "has a name that is not UTF-8" },
		{ "form-data; name=\"f", "has a malformed or too long Content-Disposition" },
		{ "form-data; name=\"f\"x", "has a malformed or too long Content-Disposition" },
		{ "form-data name=f", "is no form-data" },
		{ "form-data; name", "has a malformed or too long Content-Disposition" },
		{ "form-data; name=f\r\nContent-Disposition: form-data; name=g",
		  "has two Content-Dispositions" },
		{ "form-data; name=f\r\nContent-Transfer-Encoding: base64",
		  "has a Content-Transfer-Encoding" },
		{ "form-data; name=f\r\n folded", "has a malformed header" },
		{ "form-data; name=f\r\nno colon", "has a malformed header" },
		{ "form-data; name=f\nX: y", "has a control character in its head" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char expected[200];

		(void)snprintf(expected, sizeof(expected), "!a part of the body %s", bad[i].why);
		named(bad[i].value, expected);
	}
}

static void a_body_that_is_none_is_refused(void **state)
{
	(void)state;
	says("x", "!the body does not begin with its boundary");
	says("--cup\r\n", "!the body does not begin with its boundary");
	says("--cutxy", "!a boundary in the body is followed by neither a part nor its end");
	says("--cut\r\n\r\nA: b\r\n\r\n", "!a part of the body has a malformed header");
	says("--cut\r\nA: b\r\n\r\n", "!a part of the body has no Content-Disposition");
}

static void sizes_are_bounded(void **state)
{
	static char body[MULTIPART_HEAD_MAX + 200000];
	size_t n;

	(void)state;
	n = (size_t)sprintf(body, "--cut\r\nContent-Disposition: form-data; name=\"");
	memset(body + n, 'n', MULTIPART_NAME_MAX + 1);
	(void)sprintf(body + n + MULTIPART_NAME_MAX + 1, "\"\r\n\r\n");
	assert_string_equal(said(body, strlen(body), 100),
			    "!a part of the body has too long a name");
	n = (size_t)sprintf(body, "--cut\r\n");
	memset(body + n, 'n', MULTIPART_HEAD_MAX);
	assert_string_equal(said(body, n + MULTIPART_HEAD_MAX, 100),
			    "!a part of the body has too large a head");
	n = 0;
	for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
		n += (size_t)sprintf(body + n,
				     "\r\n--cut\r\nContent-Disposition: form-data; name=a\r\n\r\n");
	assert_non_null(strstr(said(body, n, 1000), "!the body has too many parts"));
}

static void the_type_of_the_body_is_asked_for(void **state)
{
	static const struct {
		const char *type, *why;
	} bad[] = {
		{ "application/json", "'Content-Type' must be multipart/form-data" },
		{ "multipart/form-data", "'Content-Type' has no good boundary" },
		{ "multipart/form-data; boundary=", "'Content-Type' has no good boundary" },
		{ "multipart/form-data; boundary=\"a \"", "'Content-Type' has no good boundary" },
		{ "multipart/form-data; boundary=a; boundary=b",
		  "'Content-Type' has two boundaries" },
		{ "multipart/form-data; boundary="
		  "01234567890123456789012345678901234567890123456789012345678901234567890",
		  "'Content-Type' has no good boundary" },
	};
	struct http_text none = { .at = NULL };
	struct multipart m;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct http_text type = { .at = bad[i].type, .len = strlen(bad[i].type) };

		assert_refused(multipart_begin(&m, type, &e), EINVAL, bad[i].why);
	}
	assert_refused(multipart_begin(&m, none, &e), EINVAL, bad[0].why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_comes_out_as_it_went_in),
		cmocka_unit_test(what_is_nearly_a_boundary_is_of_the_file),
		cmocka_unit_test(several_parts_come_in_order),
		cmocka_unit_test(what_follows_the_end_is_ignored),
		cmocka_unit_test(a_body_that_is_cut_short_has_no_end),
		cmocka_unit_test(names_are_read_as_clients_write_them),
		cmocka_unit_test(names_that_could_be_read_differently_are_refused),
		cmocka_unit_test(a_body_that_is_none_is_refused),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(the_type_of_the_body_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
