/* SPDX-License-Identifier: MIT */
/* file_edit.h - the editor: `view` and its four ways to change a file. Runs in the helper. */
#pragma once

#include "sandbox/executor/file.h"

enum file_edit_limits {
	FILE_EDIT_BYTES_MAX = 10 << 20, /* of a file that is edited or viewed */
};

/* Do what FILE_COMMAND says, by the reference's checks in their order. What it says goes into
 * FILE_GIVES_CONTENT, behind "ERROR:\n" where it is a refusal; *reply is all zero before. */
void file_edit(const struct file_request *request, struct file_reply *reply);
