/* SPDX-License-Identifier: MIT */
/* meter.c - see meter.h. */
#include "sandbox/executor/meter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"

void meter_open(struct meter *m, const struct ctl_boot *boot)
{
	*m = (struct meter) { .boot = boot };
	m->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	/* Of the network namespace of who opens it: the session's. */
	m->snmp = open("/proc/net/snmp", O_RDONLY | O_CLOEXEC);
}

/* --- texts ------------------------------------------------------------------------------------ */

int64_t meter_number(const char *text, const char *key)
{
	size_t len = strlen(key);
	const char *at = text;

	if (*at >= '0' && *at <= '9')
		return strtoll(at, NULL, 10);
	while (*at) {
		if (strncmp(at, key, len) == 0 && at[len] == ' ')
			return strtoll(at + len, NULL, 10);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return -1;
}

/* The line that begins with "TABLE:", behind `from`. */
static const char *table_line(const char *from, const char *table)
{
	size_t len = strlen(table);
	const char *at = from;

	while (*at) {
		if (strncmp(at, table, len) == 0 && at[len] == ':')
			return at + len + 1;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return NULL;
}

int64_t meter_column(const char *text, const char *table, const char *name)
{
	const char *names = table_line(text, table), *values, *end;
	size_t len = strlen(name);

	if (!names)
		return -1;
	end = names + strcspn(names, "\n");
	values = table_line(end, table);
	while (values && names < end) {
		size_t n;

		names += strspn(names, " ");
		values += strspn(values, " ");
		n = strcspn(names, " \n");
		if (n == len && memcmp(names, name, n) == 0)
			return strtoll(values, NULL, 10);
		names += n;
		values += strcspn(values, " \n");
	}
	return -1;
}

/* --- reading ---------------------------------------------------------------------------------- */

#define TEXT_BYTES 4096

static const char *text_of(int fd, char text[TEXT_BYTES])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, TEXT_BYTES - 1, 0);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	return text;
}

static int64_t known(int64_t value)
{
	return value < 0 ? METER_UNKNOWN : value;
}

/* What is in files of groups: v1 and v2 differ in names, forms and units. */
static const struct group_file {
	enum meter_kind kind;
	enum ctl_counter counter;
	bool above;
	const char *key;      /* in a file of lines */
	int64_t divide_plain; /* where the file is one number */
} group_files[] = {
	{ METER_CPU_US, CTL_COUNT_CPU, false, "usage_usec", 1000 },
	{ METER_PEAK, CTL_COUNT_MEMORY_PEAK, false, "", 1 },
	{ METER_OOM, CTL_COUNT_MEMORY_EVENTS, false, "oom_kill", 1 },
	{ METER_PIDS, CTL_COUNT_PIDS, false, "", 1 },
	{ METER_PIDS_FULL, CTL_COUNT_PIDS_EVENTS, false, "max", 1 },
	{ METER_PIDS_FULL_ABOVE, CTL_COUNT_PIDS_EVENTS, true, "max", 1 },
};

static void read_group_file(const struct meter *m, const struct group_file *f, unsigned leaf,
			    struct reading *r)
{
	const struct ctl_boot *b = m->boot;
	char text[TEXT_BYTES];
	const char *got = NULL;
	int64_t value;

	if (leaf < b->n_leaves)
		got = text_of(f->above ? b->above[f->counter] : b->leaves[leaf].counter[f->counter],
			      text);
	if (!got) {
		r->value[f->kind] = METER_UNKNOWN;
		return;
	}
	value = meter_number(got, f->key);
	if (value > 0 && *got >= '0' && *got <= '9')
		value /= f->divide_plain;
	r->value[f->kind] = known(value);
}

static int64_t throttled(const struct meter *m)
{
	char text[TEXT_BYTES];
	const char *got = NULL;
	int64_t us;

	if (m->boot->n_leaves)
		got = text_of(m->boot->above[CTL_COUNT_CPU_LIMIT], text);
	if (!got)
		return METER_UNKNOWN;
	us = meter_number(got, "throttled_usec");
	if (us < 0 && meter_number(got, "throttled_time") >= 0)
		us = meter_number(got, "throttled_time") / 1000;
	return known(us);
}

/* "0.25 0.16 0.12 2/345 6789": the last is the pid that was given last, in our namespace. */
static int64_t made(const struct meter *m)
{
	char text[TEXT_BYTES];
	const char *got = text_of(m->loadavg, text), *last = got ? strrchr(got, ' ') : NULL;

	return last ? known(strtoll(last, NULL, 10)) : METER_UNKNOWN;
}

static void read_network(const struct meter *m, struct reading *r)
{
	char text[TEXT_BYTES];
	const char *got = text_of(m->snmp, text);
	int64_t in, own;

	r->value[METER_NO_ROUTE] = r->value[METER_UNREACHABLE] = METER_UNKNOWN;
	if (!got)
		return;
	r->value[METER_NO_ROUTE] = known(meter_column(got, "Ip", "OutNoRoutes"));
	in = meter_column(got, "Icmp", "InDestUnreachs");
	own = meter_column(got, "Icmp", "OutDestUnreachs");
	/* What the session told itself over loopback is nobody's refusal. */
	if (in >= 0 && own >= 0)
		r->value[METER_UNREACHABLE] = in > own ? in - own : 0;
}

void meter_read(const struct meter *m, unsigned leaf, unsigned kinds, struct reading *r)
{
	for (size_t i = 0; i < ARRAY_LEN(group_files); i++)
		if (kinds & 1u << group_files[i].kind)
			read_group_file(m, &group_files[i], leaf, r);
	if (kinds & 1u << METER_THROTTLED_US)
		r->value[METER_THROTTLED_US] = throttled(m);
	if (kinds & 1u << METER_MADE)
		r->value[METER_MADE] = made(m);
	if (kinds & (1u << METER_NO_ROUTE | 1u << METER_UNREACHABLE))
		read_network(m, r);
}

void meter_reset(struct meter *m, unsigned leaf)
{
	if (leaf >= m->boot->n_leaves)
		return;
	m->peak_resets[leaf] =
		write(m->boot->leaves[leaf].counter[CTL_COUNT_MEMORY_PEAK], "0", 1) == 1;
}

int64_t meter_grown(const struct reading *before, const struct reading *after, enum meter_kind kind)
{
	int64_t was = before->value[kind], is = after->value[kind];

	if (was == METER_UNKNOWN || is == METER_UNKNOWN)
		return METER_UNKNOWN;
	/* Pids begin anew at their end. */
	if (is < was && kind == METER_MADE)
		return METER_UNKNOWN;
	return is > was ? is - was : 0;
}
