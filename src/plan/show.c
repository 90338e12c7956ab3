/* SPDX-License-Identifier: MIT */
/* show.c - limits and names as both the plan and the policy show them. */
#include "plan/show.h"

#include <stddef.h>

static const struct {
	const char *key;
	size_t offset;
} limit_keys[] = {
	{ "memory_bytes", offsetof(struct limits, memory_bytes) },
	{ "swap_bytes", offsetof(struct limits, swap_bytes) },
	{ "cpu_milli", offsetof(struct limits, cpu_milli) },
	{ "pids", offsetof(struct limits, pids) },
	{ "timeout_ms", offsetof(struct limits, timeout_ms) },
	{ "nofile", offsetof(struct limits, nofile) },
	{ "fsize_bytes", offsetof(struct limits, fsize_bytes) },
	{ "tmp_bytes", offsetof(struct limits, tmp_bytes) },
};

const char *limit_name(unsigned i)
{
	return i < ARRAY_LEN(limit_keys) ? limit_keys[i].key : NULL;
}

uint64_t *limit_at(struct limits *limits, unsigned i)
{
	return (uint64_t *)(void *)((char *)limits + limit_keys[i].offset);
}

void show_limits(struct json_out *o, const char *key, const struct limits *limits)
{
	jo_object(o, key);
	for (size_t i = 0; i < ARRAY_LEN(limit_keys); i++) {
		uint64_t value = *(const uint64_t *)((const char *)limits + limit_keys[i].offset);

		if (value == LIMIT_NONE)
			jo_null(o, limit_keys[i].key);
		else
			jo_u64(o, limit_keys[i].key, value);
	}
	jo_end_object(o);
}

void show_degraded(struct json_out *o, const char *key, unsigned bits)
{
	jo_array(o, key);
	for (unsigned bit = 1; degraded_name(bit); bit <<= 1)
		if (bits & bit)
			jo_string(o, NULL, degraded_name(bit));
	jo_end_array(o);
}

const char *show_mount_mode(enum mount_mode mode)
{
	return mode == MOUNT_MODE_RO ? "ro" : "cow";
}

const char *show_net_name(enum net_mode net)
{
	return net == NET_NAT ? "nat" : "none";
}

void show_texts(struct json_out *o, const char *key, char *const *texts)
{
	if (!texts) {
		jo_null(o, key);
		return;
	}
	jo_array(o, key);
	for (size_t i = 0; texts[i]; i++)
		jo_string(o, NULL, texts[i]);
	jo_end_array(o);
}
