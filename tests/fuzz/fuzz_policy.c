/* SPDX-License-Identifier: MIT */
/* fuzz_policy.c - policies and OCI profiles of any bytes; what is taken must be shown as JSON.
 *
 * The first byte chooses: 'o' for an OCI profile, anything else begins a policy. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "plan/policy.h"
#include "plan/policy_parts.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int find(const char *name, struct buf *text, struct err *e)
{
	if (strcmp(name, "missing") == 0)
		return err_code(e, ENOENT, "no policy 'missing'");
	buf_puts(text,
		 "{\"hostname\": \"base\", \"seccomp\": {\"rules\": [{\"allow\": [\"read\"]}]}}");
	return 0;
}

static void shown(const struct policy *p)
{
	struct json_limits limits = { .bytes = 64 << 20, .depth = 32, .values = 1 << 22 };
	autojson struct json_doc *doc = NULL;
	autobuf struct buf out = { 0 };
	struct err e = { 0 };

	policy_show(p, &out);
	if (buf_check(&out, &e) < 0)
		return;
	if (json_parse(buf_str(&out), out.len, &limits, &doc, &e) < 0 ||
	    !json_get(json_root(doc), "digest"))
		abort();
}

static void oci(const char *text, size_t len)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	if (policy_parse("{}", 2, "empty", find, &p, &e) < 0)
		abort();
	if (policy_parse_oci(text, len, "profile", p, &e) == 0)
		shown(p);
	policy_free(p);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	if (size && data[0] == 'o') {
		oci((const char *)data + 1, size - 1);
	} else if (policy_parse((const char *)data, size, "policy", find, &p, &e) == 0) {
		shown(p);
		policy_free(p);
	}
	return 0;
}
