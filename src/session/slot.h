/* SPDX-License-Identifier: MIT */
/* slot.h - as root, every session has a slot: a number that gives it its ids, address and link.
 *
 * One table for the whole host in /run/ohsandbox (OHS_RUN_DIR for tests), whatever the state
 * directory: two state directories must never share ids or addresses. Slots are handed out in a
 * circle, so that a name or an address does not come back at once.
 *
 *	ids		0x70000000 + slot * 65536, 65536 of them
 *	bridge		b = slot / 1000, "ohsbr<b>", network 198.18.(4*b).0/22, its own address .1
 *	address		slot % 1000 + 2 in that network
 *	link		"ohs<slot>" on the host; its peer is "eth0" inside
 *
 * OHS_NET_BASE moves the network to another /15 on hosts where 198.18.0.0/15 is in use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "session/resolvers.h"

#define SLOT_COUNT 4096u
#define SLOT_UID_FIRST 0x70000000u
#define SLOT_IDS 65536u
#define SLOT_PER_BRIDGE 1000u /* a bridge takes at most 1,023 ports */
#define SLOT_BRIDGES ((SLOT_COUNT + SLOT_PER_BRIDGE - 1) / SLOT_PER_BRIDGE)
#define SLOT_NET_PREFIX 22u

/* Take a free slot for session `id` of the state directory `state_path` (absolute). Slots whose
 * ids overlap with /etc/subuid, /etc/subgid, /etc/passwd or /etc/group are never given out. The
 * slot stays taken until slot_release, or until its session's directory and its taker are gone. */
must_check int slot_take(const char *state_path, const char *id, uint32_t *slot, struct err *e);

/* Make sure that `id` still has the slot it had: after a boot the table knows of none. -EADDRINUSE where
 * it is another session's by now. */
must_check int slot_retake(const char *state_path, const char *id, uint32_t slot, struct err *e);

/* Give it back. No error when it is not `id`'s any more. */
must_check int slot_release(uint32_t slot, const char *id, struct err *e);

static inline uid_t slot_uid_base(uint32_t slot)
{
	return SLOT_UID_FIRST + slot * SLOT_IDS;
}

static inline unsigned slot_bridge(uint32_t slot)
{
	return slot / SLOT_PER_BRIDGE;
}

/* Host byte order; 0 when OHS_NET_BASE is not the address of a /15 (slot_take refuses that). */
uint32_t slot_net_base(void);
uint32_t slot_address(uint32_t slot);
uint32_t slot_gateway(unsigned bridge); /* the bridge's own address */

/* Locally administered, derived from the address. */
void slot_mac(uint32_t address, uint8_t mac[6]);
void slot_link_name(uint32_t slot, char name[16]);
void slot_bridge_name(unsigned bridge, char name[16]);

/* The table, locked for as long as it is open: for what all sessions of a host share. */
struct slots {
	int fd;
	struct slot_table *table;
};

must_check int slots_open(struct slots *s, struct err *e);
void slots_close(struct slots *s);

/* Take the table itself away, before closing it. -EBUSY while a slot is taken. */
must_check int slots_remove(struct slots *s, struct err *e);

/* How many slots are taken, after those of dead sessions have been taken back. */
unsigned slots_used(struct slots *s);

/* Is it taken (by `id`, unless that is NULL)? */
bool slots_is_taken(const struct slots *s, uint32_t slot, const char *id);

/* Note that a session may go out and whom it may ask for names, before anything lets it; NULL when
 * that has been undone. A slot whose session died without undoing it is not given out again
 * while the firewall may know it. */
void slots_set_nat(struct slots *s, uint32_t slot, const struct resolvers *resolvers);

/* May the slot's session go out? Then *resolvers is filled, if not NULL. */
bool slots_nat(const struct slots *s, uint32_t slot, struct resolvers *resolvers);
unsigned slots_nat_count(const struct slots *s);

/* Names of interfaces that we have made forward; empty rows are free. */
#define SLOT_UPLINKS 8u
typedef char slot_uplink[16];
slot_uplink *slots_uplinks(struct slots *s);
