/* SPDX-License-Identifier: MIT */
/* sanitized.c - in a build with AddressSanitizer, its settings for programs inside a session: no
 * environment of ours reaches them. Their start must do without what the filter refuses, their leaks are
 * looked for outside, and what was freed stays within the group's reserve. */

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "disable_coredump=0:detect_leaks=0:quarantine_size_mb=4:allocator_release_to_os_interval_ms=500";
}
