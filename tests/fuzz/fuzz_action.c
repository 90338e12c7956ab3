/* SPDX-License-Identifier: MIT */
/* fuzz_action.c - any body as an action: decoded, or refused with a status that is documented and
 * a text that fits. */
#include <string.h>

#include "sandbox/executor/wire_v0.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct wire_refusal why = { 0 };
	struct action a = { 0 };

	if (wire_v0_action((const char *)data, size, &a, &why) < 0) {
		if ((why.status != 422 && why.status != 500) ||
		    !memchr(why.text, '\0', sizeof(why.text)) || !why.text[0])
			__builtin_trap();
		return 0;
	}
	if (a.kind >= ACTION_KINDS ||
	    (a.kind == ACTION_READ && strlen(a.read.path.at) != a.read.path.len))
		__builtin_trap();
	if (a.kind == ACTION_READ && a.read.range.given &&
	    !memchr(a.read.range.shown, '\0', sizeof(a.read.range.shown)))
		__builtin_trap();
	if (a.kind == ACTION_EDIT &&
	    (!a.edit.path.at || strlen(a.edit.path.at) != a.edit.path.len || !a.edit.command.at))
		__builtin_trap();
	action_clear(&a);
	return 0;
}
