/* SPDX-License-Identifier: MIT */
/* slot.c - see slot.h.
 *
 * One sparse file, mapped and locked for as long as it is looked at: taking a slot touches two
 * or three of its pages. It lies on a tmpfs and is gone with the running kernel, as are the
 * sessions it speaks of. Which slots overlap with ids somebody else uses is kept in it too, for
 * as long as the four files that say so have not changed. */
#include "session/slot.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "session/slot_ids.h"

#define TABLE_MAGIC 0x0a31544f4c53484full /* "OHSLOT1\n" */
#define STATE_DIRS 256u
#define STATE_PATH_BYTES 1024u
#define NET_BASE_DEFAULT 0xc6120000u /* 198.18.0.0/15: for benchmarks, so nobody routes it */
#define NET_BASE_MASK 0xfffe0000u

/* The first byte of `id` is written last and cleared first: an entry half written is a free one. */
struct slot_entry {
	char id[16];
	int32_t taker; /* the process that took it; it may not have made the directory yet */
	uint16_t state;
	bool nat; /* outlives the rest: until the firewall has been told */
	struct resolvers resolvers;
};

struct slot_table {
	uint64_t magic;
	uint32_t next;
	uint32_t net_base; /* of the sessions there are: they share bridges */
	slot_uplink uplink[SLOT_UPLINKS];
	struct slot_id_facts ids;
	struct slot_entry entry[SLOT_COUNT];
	char state[STATE_DIRS][STATE_PATH_BYTES];
};

uint32_t slot_net_base(void)
{
	const char *text = getenv("OHS_NET_BASE");
	struct in_addr a;

	if (!text || !*text)
		return NET_BASE_DEFAULT;
	if (inet_pton(AF_INET, text, &a) != 1 || (ntohl(a.s_addr) & ~NET_BASE_MASK))
		return 0;
	return ntohl(a.s_addr);
}

uint32_t slot_address(uint32_t slot)
{
	return slot_gateway(slot_bridge(slot)) + 1 + slot % SLOT_PER_BRIDGE;
}

uint32_t slot_gateway(unsigned bridge)
{
	return slot_net_base() + (bridge << (32 - SLOT_NET_PREFIX)) + 1;
}

void slot_mac(uint32_t address, uint8_t mac[6])
{
	const uint8_t bytes[6] = { 0x02,
				   0x68, /* "h" */
				   (uint8_t)(address >> 24),
				   (uint8_t)(address >> 16),
				   (uint8_t)(address >> 8),
				   (uint8_t)address };

	memcpy(mac, bytes, sizeof(bytes));
}

void slot_link_name(uint32_t slot, char name[16])
{
	(void)snprintf(name, 16, "ohs%u", slot);
}

void slot_bridge_name(unsigned bridge, char name[16])
{
	(void)snprintf(name, 16, "ohsbr%u", bridge);
}

/* The directory holds the locks of the whole host: nobody else may put anything into it. */
static int run_dir_open(struct err *e)
{
	const char *path = getenv("OHS_RUN_DIR");
	struct stat st;
	int fd;

	if (!path || !*path)
		path = "/run/ohsandbox";
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && (mkdir(path, 0700) == 0 || errno == EEXIST))
		fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open '%s'", path);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700) {
		(void)close(fd);
		return err_code(e, EPERM, "'%s' must belong to the caller and have mode 0700",
				path);
	}
	return fd;
}

static int table_check(struct slots *s, struct err *e)
{
	struct slot_table *t = s->table;

	if (t->magic == TABLE_MAGIC)
		return 0;
	if (t->magic)
		return err_code(e, EPROTO,
				"the slot table was made by another version; end its sessions, "
				"then remove /run/ohsandbox/slots");
	t->magic = TABLE_MAGIC;
	return 0;
}

/* The table's file, locked. One that was removed while we waited for the lock is no table. */
static int table_lock(int dir, struct err *e)
{
	for (;;) {
		autoclose int fd =
			openat(dir, "slots", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		struct stat st;

		if (fd < 0)
			return err_errno(e, "open the slot table");
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return err_errno(e, "lock the slot table");
		/* Ours alone, so it can only be whole or new; never shrunk under a mapping. */
		if (fstat(fd, &st) < 0 || (st.st_size < (off_t)sizeof(struct slot_table) &&
					   ftruncate(fd, sizeof(struct slot_table)) < 0))
			return err_errno(e, "size the slot table");
		if (st.st_nlink)
			return take_fd(&fd);
	}
}

int slots_open(struct slots *s, struct err *e)
{
	autoclose int dir = run_dir_open(e);
	autoclose int fd = -1;
	struct slots opened;
	void *map;
	int r;

	if (dir < 0)
		return dir;
	fd = table_lock(dir, e);
	if (fd < 0)
		return fd;
	map = mmap(NULL, sizeof(struct slot_table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return err_errno(e, "map the slot table");
	opened.table = map;
	r = table_check(&opened, e);
	if (r < 0) {
		(void)munmap(map,
			     sizeof(struct slot_table)); /* cannot fail for a mapping of ours */
		return r;
	}
	opened.fd = take_fd(&fd);
	*s = opened;
	return 0;
}

int slots_remove(struct slots *s, struct err *e)
{
	autoclose int dir = run_dir_open(e);

	if (dir < 0)
		return -e->code;
	if (slots_used(s) > 0)
		return err_code(e, EBUSY, "sessions live");
	if (unlinkat(dir, "slots", 0) < 0 && errno != ENOENT)
		return err_errno(e, "remove the slot table");
	return 0;
}

void slots_close(struct slots *s)
{
	(void)munmap(s->table, sizeof(*s->table)); /* cannot fail for a mapping of ours */
	(void)close(s->fd);
	s->table = NULL;
	s->fd = -1;
}

static void entry_clear(struct slot_entry *entry)
{
	entry->id[0] = '\0';
}

/* Its directory is gone and so is the process that took it, which may have been about to make
 * the directory. A number that has been given to another process only delays this. */
static bool entry_is_dead(const struct slot_table *t, const struct slot_entry *entry)
{
	char path[STATE_PATH_BYTES + 64];

	if (kill(entry->taker, 0) == 0 || errno != ESRCH)
		return false;
	(void)snprintf(path, sizeof(path), "%.*s/sessions/%.*s", (int)STATE_PATH_BYTES,
		       t->state[entry->state % STATE_DIRS], (int)sizeof(entry->id), entry->id);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

static unsigned table_reclaim(struct slot_table *t)
{
	unsigned used = 0;

	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
		struct slot_entry *entry = &t->entry[slot];

		if (!entry->id[0])
			continue;
		if (entry_is_dead(t, entry))
			entry_clear(entry);
		else
			used++;
	}
	return used;
}

static bool table_is_empty(const struct slot_table *t)
{
	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
		if (t->entry[slot].id[0])
			return false;
	return true;
}

static bool state_in_use(const struct slot_table *t, unsigned state)
{
	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
		if (t->entry[slot].id[0] && t->entry[slot].state == state)
			return true;
	return false;
}

/* The row of the state directory, a new one where it has none. */
static int table_state(struct slot_table *t, const char *path, struct err *e)
{
	int room = -1;

	if (path[0] != '/' || strlen(path) >= STATE_PATH_BYTES)
		return err_code(e, ENAMETOOLONG,
				"state directory '%.60s...': not an absolute path of at most "
				"%u bytes",
				path, STATE_PATH_BYTES - 1);
	for (unsigned i = 0; i < STATE_DIRS; i++) {
		if (strncmp(t->state[i], path, STATE_PATH_BYTES) == 0)
			return (int)i;
		/* Rows are filled in order, so behind an empty one there is none. */
		if (!t->state[i][0]) {
			room = (int)i;
			break;
		}
	}
	for (unsigned i = 0; i < STATE_DIRS && room < 0; i++)
		if (!state_in_use(t, i))
			room = (int)i;
	if (room < 0)
		return err_code(e, ENOSPC, "more than %u state directories have sessions",
				STATE_DIRS);
	(void)strcpy(t->state[room], path);
	return room;
}

/* Sessions share the bridges, so all that live at one time share the network. */
static int table_net(struct slot_table *t, struct err *e)
{
	uint32_t base = slot_net_base();

	if (!base)
		return err_code(e, EINVAL, "OHS_NET_BASE='%s' is not the address of a /15 network",
				getenv("OHS_NET_BASE"));
	if (t->net_base == base)
		return 0;
	if (t->net_base && !table_is_empty(t) && table_reclaim(t) > 0)
		return err_code(e, EBUSY,
				"OHS_NET_BASE is not what the sessions that live now have");
	t->net_base = base;
	return 0;
}

static int table_find_free(struct slot_table *t)
{
	for (uint32_t i = 0; i < SLOT_COUNT; i++) {
		uint32_t slot = (t->next + i) % SLOT_COUNT;

		if (!t->entry[slot].id[0] && !t->entry[slot].nat &&
		    !slot_ids_blocked(&t->ids, slot))
			return (int)slot;
	}
	return -1;
}

static void entry_fill(struct slot_entry *entry, int state, const char *id)
{
	entry->taker = getpid();
	entry->state = (uint16_t)state;
	atomic_signal_fence(memory_order_seq_cst);
	memset(entry->id, 0, sizeof(entry->id));
	memcpy(entry->id + 1, id + 1, strlen(id + 1));
	atomic_signal_fence(memory_order_seq_cst);
	entry->id[0] = id[0];
}

static int table_take(struct slot_table *t, const char *state_path, const char *id, struct err *e)
{
	int state, slot;

	if (table_net(t, e) < 0 || slot_ids_refresh(&t->ids, e) < 0)
		return -e->code;
	state = table_state(t, state_path, e);
	if (state < 0)
		return state;
	slot = table_find_free(t);
	if (slot < 0) {
		(void)table_reclaim(t); /* how many are left in use does not matter here */
		slot = table_find_free(t);
	}
	if (slot < 0)
		return err_code(e, ENOSPC, "all %u slots of this host are taken", SLOT_COUNT);
	entry_fill(&t->entry[slot], state, id);
	t->next = ((uint32_t)slot + 1) % SLOT_COUNT;
	return slot;
}

int slot_take(const char *state_path, const char *id, uint32_t *slot, struct err *e)
{
	struct slots s;
	int taken;

	if (!id[0] || strlen(id) >= sizeof(((struct slot_entry *)0)->id))
		return err_code(e, EINVAL, "'%s' is not a session's id", id);
	if (slots_open(&s, e) < 0)
		return -e->code;
	taken = table_take(s.table, state_path, id, e);
	slots_close(&s);
	if (taken < 0)
		return err_wrap(e, "slot");
	*slot = (uint32_t)taken;
	return 0;
}

static int table_retake(struct slots *s, const char *state_path, const char *id, uint32_t slot,
			struct err *e)
{
	struct slot_entry *entry = &s->table->entry[slot];
	int state;

	if (slots_is_taken(s, slot, id))
		return 0;
	if (entry->id[0] && !entry_is_dead(s->table, entry))
		return err_code(e, EADDRINUSE, "slot %u is session %.16s's by now", slot,
				entry->id);
	if (table_net(s->table, e) < 0 || slot_ids_refresh(&s->table->ids, e) < 0)
		return -e->code;
	if (slot_ids_blocked(&s->table->ids, slot))
		return err_code(e, EADDRINUSE, "the ids of slot %u are somebody else's by now",
				slot);
	state = table_state(s->table, state_path, e);
	if (state < 0)
		return state;
	entry_fill(entry, state, id);
	return 0;
}

int slot_retake(const char *state_path, const char *id, uint32_t slot, struct err *e)
{
	struct slots s;
	int r;

	if (slot >= SLOT_COUNT)
		return err_code(e, EINVAL, "there is no slot %u", slot);
	if (slots_open(&s, e) < 0)
		return err_wrap(e, "slot");
	r = table_retake(&s, state_path, id, slot, e);
	slots_close(&s);
	return r;
}

int slot_release(uint32_t slot, const char *id, struct err *e)
{
	struct slots s;

	if (slot >= SLOT_COUNT)
		return 0;
	if (slots_open(&s, e) < 0)
		return err_wrap(e, "slot");
	if (slots_is_taken(&s, slot, id))
		entry_clear(&s.table->entry[slot]);
	slots_close(&s);
	return 0;
}

unsigned slots_used(struct slots *s)
{
	return table_reclaim(s->table);
}

bool slots_is_taken(const struct slots *s, uint32_t slot, const char *id)
{
	const struct slot_entry *entry;

	if (slot >= SLOT_COUNT)
		return false;
	entry = &s->table->entry[slot];
	return entry->id[0] && (!id || strncmp(entry->id, id, sizeof(entry->id)) == 0);
}

void slots_set_nat(struct slots *s, uint32_t slot, const struct resolvers *resolvers)
{
	if (slot >= SLOT_COUNT)
		return;
	if (resolvers)
		s->table->entry[slot].resolvers = *resolvers;
	s->table->entry[slot].nat = resolvers;
}

bool slots_nat(const struct slots *s, uint32_t slot, struct resolvers *resolvers)
{
	if (!slots_is_taken(s, slot, NULL) || !s->table->entry[slot].nat)
		return false;
	if (resolvers)
		*resolvers = s->table->entry[slot].resolvers;
	return true;
}

unsigned slots_nat_count(const struct slots *s)
{
	unsigned n = 0;

	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
		n += slots_nat(s, slot, NULL);
	return n;
}

slot_uplink *slots_uplinks(struct slots *s)
{
	return s->table->uplink;
}
