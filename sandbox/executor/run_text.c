/* SPDX-License-Identifier: MIT */
/* run_text.c - see run_text.h. */
#include "sandbox/executor/run_text.h"

#include <string.h>

#include "base/str.h"
#include "sandbox/executor/observation.h"

#define SILENCE_NAME "NO_CHANGE_TIMEOUT_SECONDS="

enum { SILENCE_S = 10, SILENCE_MAX_S = 366 * 24 * 3600 };

const char run_text_no_logs[] = "ERROR: No previous running command to retrieve logs from.";
const char run_text_no_program[] = "ERROR: No previous running command to interact with.";
const char run_text_below[] = "[Below is the output of the previous command.]\n";

static const char advice[] =
	"You may wait longer to see additional output by sending empty command '', send other "
	"commands to interact with the current process, send keys (\"C-c\", \"C-z\", \"C-d\") to "
	"interrupt/kill the previous command before sending your new command, or use the timeout "
	"parameter in execute_bash for future commands.]";

void run_text_lost(struct buf *prefix, unsigned lines)
{
	buf_printf(prefix,
		   "[Previous command outputs are truncated. Showing the last %u lines of the "
		   "output below.]\n",
		   lines);
}

void run_text_completed(struct buf *suffix, int exit_code, char control)
{
	buf_printf(suffix, "\n[The command completed with exit code %d.", exit_code);
	if (control)
		buf_printf(suffix, " CTRL+%c was sent.", control);
	buf_putc(suffix, ']');
}

void run_text_silent(struct buf *suffix, uint64_t seconds)
{
	buf_printf(suffix, "\n[The command has no new output after %u seconds. ",
		   (unsigned)seconds);
	buf_puts(suffix, advice);
}

void run_text_timed_out(struct buf *suffix, double seconds)
{
	buf_puts(suffix, "\n[The command timed out after ");
	observation_seconds(suffix, seconds);
	buf_puts(suffix, " seconds. ");
	buf_puts(suffix, advice);
}

void run_text_not_executed(struct buf *suffix, struct text command)
{
	buf_puts(suffix, "\n[Your command \"");
	buf_add(suffix, command.at, command.len);
	buf_puts(suffix,
		 "\" is NOT executed. The previous command is still running - You CANNOT send new "
		 "commands until the previous command is completed. By setting `is_input` to "
		 "`true`, you can interact with the current process: ");
	buf_puts(suffix, advice);
}

void run_text_new_shell(struct buf *suffix)
{
	buf_puts(suffix, "\n[The shell has ended. A new one takes its place: directory, variables, "
			 "functions and aliases are those of the start.]");
}

uint64_t run_text_silence(char *const *env)
{
	uint64_t seconds;
	struct err e;

	for (; env && *env; env++)
		if (str_starts(*env, SILENCE_NAME) &&
		    str_u64(*env + strlen(SILENCE_NAME), 1, SILENCE_MAX_S, &seconds, &e) == 0)
			return seconds;
	return SILENCE_S;
}
