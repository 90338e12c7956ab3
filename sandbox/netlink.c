/* SPDX-License-Identifier: MIT */
/* netlink.c - see netlink.h. The one file that uses libnl.
 *
 * libnl's objects (links, addresses, caches) are left aside: they know neither port isolation nor
 * batches, and a cache of the host's links grows with the number of sessions. */
#include "sandbox/netlink.h"

#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BATCH_MAX 32
#define REQUEST_BYTES 1024
#define NEST_MAX 8
#define ANSWER_BYTES 32768

struct netlink {
	int fd, protocol;
	uint32_t seq; /* of the first request of this batch */
	unsigned n, depth;
	bool failed;
	struct nl_msg *msg[BATCH_MAX];
	const char *what[BATCH_MAX];
	struct nlattr *nest[NEST_MAX];
};

int netlink_open(int protocol, struct netlink **out, struct err *e)
{
	struct netlink *nl = calloc(1, sizeof(*nl));
	int on = 1;

	if (!nl)
		return err_code(e, ENOMEM, "netlink: out of memory");
	nl->seq = 1;
	nl->protocol = protocol;
	/* A plain socket: libnl's own takes five more system calls to make one with a port number and
	 * buffer sizes that nobody here needs. The kernel picks the port at the first send. */
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (nl->fd < 0) {
		free(nl);
		return err_errno(e, "open a netlink socket");
	}
	/* Errors are then short and say in words what the kernel disliked; without, they are long. */
	(void)setsockopt(nl->fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	(void)setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	*out = nl;
	return 0;
}

int netlink_join(struct netlink *nl, unsigned group, struct err *e)
{
	if (setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return err_errno(e, "listen to netlink group %u", group);
	return 0;
}

int netlink_wait(struct netlink *nl, int timeout_ms, struct err *e)
{
	struct pollfd p = { .fd = nl->fd, .events = POLLIN };
	char answer[ANSWER_BYTES];
	int r = poll(&p, 1, timeout_ms);

	if (r < 0 && errno != EINTR)
		return err_errno(e, "netlink: wait");
	/* What it says is read again by who asks; ENOBUFS means that there was more of it. */
	while (r > 0 && recv(nl->fd, answer, sizeof(answer), MSG_DONTWAIT) >= 0)
		;
	return r != 0;
}

static void batch_clear(struct netlink *nl)
{
	nl->seq += nl->n;
	for (unsigned i = 0; i < nl->n; i++)
		nlmsg_free(nl->msg[i]);
	nl->n = 0;
	nl->depth = 0;
	nl->failed = false;
}

void netlink_close(struct netlink *nl)
{
	if (!nl)
		return;
	batch_clear(nl);
	(void)close(nl->fd);
	free(nl);
}

void auto_netlink(struct netlink **nl)
{
	netlink_close(*nl);
}

void netlink_add(struct netlink *nl, unsigned type, unsigned flags, const void *header, size_t len,
		 const char *what)
{
	struct nl_msg *msg = NULL;

	if (nl->n < BATCH_MAX && nl->depth == 0)
		msg = nlmsg_alloc_size(REQUEST_BYTES);
	if (!msg) {
		nl->failed = true;
		return;
	}
	nl->msg[nl->n] = msg;
	nl->what[nl->n] = what;
	if (!nlmsg_put(msg, NL_AUTO_PORT, nl->seq + nl->n, (int)type, 0,
		       (int)(NLM_F_REQUEST | flags)) ||
	    nlmsg_append(msg, (void *)(uintptr_t)header, len, NLMSG_ALIGNTO) < 0)
		nl->failed = true;
	nl->n++;
}

void netlink_put(struct netlink *nl, unsigned attr, const void *bytes, size_t len)
{
	if (nl->failed || !nl->n || nla_put(nl->msg[nl->n - 1], (int)attr, (int)len, bytes) < 0)
		nl->failed = true;
}

void netlink_u8(struct netlink *nl, unsigned attr, uint8_t value)
{
	netlink_put(nl, attr, &value, sizeof(value));
}

void netlink_u32(struct netlink *nl, unsigned attr, uint32_t value)
{
	netlink_put(nl, attr, &value, sizeof(value));
}

void netlink_str(struct netlink *nl, unsigned attr, const char *text)
{
	netlink_put(nl, attr, text, strlen(text) + 1);
}

void netlink_nest(struct netlink *nl, unsigned attr)
{
	struct nlattr *nest = NULL;

	if (!nl->failed && nl->n && nl->depth < NEST_MAX)
		nest = nla_nest_start(nl->msg[nl->n - 1], (int)(attr | NLA_F_NESTED));
	if (!nest) {
		nl->failed = true;
		return;
	}
	nl->nest[nl->depth++] = nest;
}

void netlink_header(struct netlink *nl, const void *bytes, size_t len)
{
	if (nl->failed || !nl->n ||
	    nlmsg_append(nl->msg[nl->n - 1], (void *)(uintptr_t)bytes, len, NLMSG_ALIGNTO) < 0)
		nl->failed = true;
}

void netlink_end_nest(struct netlink *nl)
{
	if (nl->failed || !nl->depth) {
		nl->failed = true;
		return;
	}
	if (nla_nest_end(nl->msg[nl->n - 1], nl->nest[--nl->depth]) < 0)
		nl->failed = true;
}

/* The kernel's own words about an error, which follow the header of the refused request. */
static const char *error_words(const struct nlmsghdr *h)
{
	const struct nlattr *attr;
	size_t skip = sizeof(struct nlmsgerr);

	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || nlmsg_datalen(h) < (int)skip)
		return NULL;
	/* NETLINK_CAP_ACK: the request's header only, never its payload. */
	attr = nla_find((const struct nlattr *)((const char *)nlmsg_data(h) + skip),
			nlmsg_datalen(h) - (int)skip, NLMSGERR_ATTR_MSG);
	if (!attr || nla_len(attr) < 1 || ((const char *)nla_data(attr))[nla_len(attr) - 1])
		return NULL;
	return nla_data(attr);
}

/* Keep the error that is about the earliest request: later ones may only follow from it. */
static void note_error(const struct netlink *nl, const struct nlmsghdr *h, uint32_t *first,
		       struct err *found)
{
	const struct nlmsgerr *ack = nlmsg_data(h);
	uint32_t index = h->nlmsg_seq - nl->seq;
	const char *what = index < nl->n ? nl->what[index] : "netlink";
	const char *words = error_words(h);

	if (!ack->error || index >= *first)
		return;
	*first = index;
	(void)err_code(found, -ack->error, "%s: %s%s%s%s", what, strerror(-ack->error),
		       words ? " (" : "", words ? words : "", words ? ")" : "");
}

/* The answers lie in the socket when the send returns. Returns whether the last one was there. */
static int read_answers(struct netlink *nl, uint32_t last_seq, struct err *found, struct err *e)
{
	char answer[ANSWER_BYTES] __attribute__((aligned(8)));
	uint32_t first = UINT32_MAX;
	bool complete = false;

	while (!complete) {
		ssize_t got = recv(nl->fd, answer, sizeof(answer), MSG_DONTWAIT);
		int left = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got < 0)
			return err_errno(e, "netlink: read the answer");
		for (struct nlmsghdr *h = (struct nlmsghdr *)answer; nlmsg_ok(h, left);
		     h = nlmsg_next(h, &left)) {
			if (h->nlmsg_type != NLMSG_ERROR ||
			    nlmsg_datalen(h) < (int)sizeof(struct nlmsgerr))
				continue;
			complete |= h->nlmsg_seq == last_seq;
			note_error(nl, h, &first, found);
		}
	}
	return complete;
}

/* One send of the whole batch, the last request (a batch's end has none) asking for an answer. */
static int send_batch(struct netlink *nl, uint32_t *last_seq, struct err *e)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct iovec iov[BATCH_MAX];
	struct msghdr m = { .msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = iov };
	ssize_t sent;

	for (unsigned i = 0; i < nl->n; i++) {
		struct nlmsghdr *h = nlmsg_hdr(nl->msg[i]);

		iov[i] = (struct iovec) { .iov_base = h, .iov_len = h->nlmsg_len };
		/* Elsewhere that number is another request's. */
		if (nl->protocol != NETLINK_NETFILTER || h->nlmsg_type != NFNL_MSG_BATCH_END)
			*last_seq = h->nlmsg_seq;
	}
	nlmsg_hdr(nl->msg[*last_seq - nl->seq])->nlmsg_flags |= NLM_F_ACK;
	m.msg_iovlen = nl->n;
	do
		sent = sendmsg(nl->fd, &m, 0);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? err_errno(e, "netlink: send") : 0;
}

int netlink_send(struct netlink *nl, struct err *e)
{
	struct err found = { 0 };
	uint32_t last_seq = nl->seq;
	int r;

	if (nl->failed) {
		batch_clear(nl);
		return err_code(e, EMSGSIZE, "netlink: a request does not fit");
	}
	if (!nl->n)
		return 0;
	r = send_batch(nl, &last_seq, e);
	if (r == 0)
		r = read_answers(nl, last_seq, &found, e);
	batch_clear(nl);
	if (r < 0)
		return r;
	if (found.code) {
		*e = found;
		return -e->code;
	}
	return r ? 0 : err_code(e, EPROTO, "netlink: the kernel did not answer");
}

/* Hand one datagram's messages on. 1 when the answer is complete, 0 when there is more. */
static int read_messages(struct netlink *nl, const char *what, netlink_each *each, void *arg,
			 struct err *e)
{
	char answer[ANSWER_BYTES] __attribute__((aligned(8)));
	ssize_t got = recv(nl->fd, answer, sizeof(answer), 0);
	int left = (int)got;

	if (got < 0)
		return errno == EINTR ? 0 : err_errno(e, "%s: read the answer", what);
	for (struct nlmsghdr *h = (struct nlmsghdr *)answer; nlmsg_ok(h, left);
	     h = nlmsg_next(h, &left)) {
		int r;

		/* What a group tells bears another number, or none. */
		if (h->nlmsg_type < NLMSG_MIN_TYPE && h->nlmsg_seq != nl->seq)
			continue;
		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *ack = nlmsg_data(h);

			if (nlmsg_datalen(h) < (int)sizeof(*ack))
				return err_code(e, EPROTO, "%s: a short answer", what);
			return ack->error ? err_code(e, -ack->error, "%s: %s", what,
						     strerror(-ack->error))
					  : 1;
		}
		r = each(h->nlmsg_type, nlmsg_data(h), (size_t)nlmsg_datalen(h), arg);
		if (r < 0)
			return err_code(e, -r, "%s: %s", what, strerror(-r));
	}
	return 0;
}

int netlink_ask(struct netlink *nl, netlink_each *each, void *arg, struct err *e)
{
	const char *what = nl->n ? nl->what[0] : "netlink";
	uint32_t seq;
	int r;

	if (nl->failed || nl->n != 1) {
		batch_clear(nl);
		return err_code(e, EMSGSIZE, "netlink: a request does not fit");
	}
	seq = nl->seq;
	r = send_batch(nl, &seq, e);
	while (r == 0)
		r = read_messages(nl, what, each, arg, e);
	batch_clear(nl);
	return r < 0 ? r : 0;
}

const void *netlink_find(const void *attrs, size_t len, unsigned attr, size_t *size)
{
	const struct nlattr *found = nla_find(attrs, (int)len, (int)attr);

	if (!found || (!size && nla_len(found) < (int)sizeof(uint32_t)))
		return NULL;
	if (size)
		*size = (size_t)nla_len(found);
	return nla_data(found);
}
