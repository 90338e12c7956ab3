/* SPDX-License-Identifier: MIT */
/* info.c - see info.h. Whatever this session's /proc does not show is told as zero. */
#include "sandbox/executor/info.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json_out.h"
#include "base/loop.h"

void info_open(struct info *i)
{
	struct utsname name = { 0 };
	struct sysinfo machine = { 0 };

	*i = (struct info) { .started_ms = loop_now() };
	i->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	i->root = open("/", O_PATH | O_CLOEXEC);
	i->cpu_at_ms = i->started_ms;
	(void)uname(&name); /* neither can fail with good pointers */
	(void)sysinfo(&machine);
	(void)snprintf(i->hostname, sizeof(i->hostname), "%s", name.nodename);
	i->hostname[strcspn(i->hostname, ".")] = '\0'; /* short, as a prompt shows it */
	i->memory_bytes = (uint64_t)machine.totalram * machine.mem_unit;
}

/* A small file of /proc from its start, as text. */
static const char *text_of(int fd, char *text, size_t size)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static double cpu_percent(struct info *i, uint64_t now)
{
	struct rusage used = { 0 };
	uint64_t cpu_us, passed_ms = now - i->cpu_at_ms;
	double percent;

	(void)getrusage(RUSAGE_SELF, &used);
	cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
		 (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	percent = passed_ms ? (double)(cpu_us - i->cpu_us) / (double)passed_ms / 10 : 0;
	i->cpu_us = cpu_us;
	i->cpu_at_ms = now;
	return percent;
}

static void show_memory(const struct info *i, struct json_out *o)
{
	char text[128], *rest;
	uint64_t page = (uint64_t)getpagesize(), vms, rss;

	vms = strtoull(text_of(i->statm, text, sizeof(text)), &rest, 10) * page;
	rss = strtoull(rest, NULL, 10) * page;
	jo_object(o, "memory");
	jo_u64(o, "rss", rss);
	jo_u64(o, "vms", vms);
	jo_real(o, "percent", i->memory_bytes ? 100.0 * (double)rss / (double)i->memory_bytes : 0);
	jo_end_object(o);
}

static void show_disk(const struct info *i, struct json_out *o)
{
	struct statfs fs = { 0 };
	uint64_t total, used, available;

	if (i->root >= 0)
		(void)fstatfs(i->root, &fs); /* zeros where it fails */
	total = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	used = total - (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
	available = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	jo_object(o, "disk");
	jo_u64(o, "total", total);
	jo_u64(o, "used", used);
	jo_u64(o, "free", available);
	jo_real(o, "percent",
		used + available ? 100.0 * (double)used / (double)(used + available) : 0);
	jo_end_object(o);
}

/* Of blocks of 512 bytes: /proc/self/io is closed to who may not be looked into. */
static void show_io(struct json_out *o)
{
	struct rusage used = { 0 };

	(void)getrusage(RUSAGE_SELF, &used);
	jo_object(o, "io");
	jo_u64(o, "read_bytes", (uint64_t)used.ru_inblock * 512);
	jo_u64(o, "write_bytes", (uint64_t)used.ru_oublock * 512);
	jo_end_object(o);
}

void info_show(struct info *i, uint64_t idle_since_ms, struct buf *out)
{
	struct json_out o = { .buf = out };
	uint64_t now = loop_now();

	jo_object(&o, NULL);
	jo_real(&o, "uptime", (double)(now - i->started_ms) / 1000);
	jo_real(&o, "idle_time", (double)(now - idle_since_ms) / 1000);
	jo_object(&o, "resources");
	jo_real(&o, "cpu_percent", cpu_percent(i, now));
	show_memory(i, &o);
	show_disk(i, &o);
	show_io(&o);
	jo_end_object(&o);
	jo_end_object(&o);
}
