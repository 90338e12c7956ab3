/* SPDX-License-Identifier: MIT */
/* ruleset.c - see ruleset.h. The one file that uses libnftables.
 *
 * Names of tables and sets, and the types of the sets' keys, are shared with src/launch/ruleset.c,
 * which adds and deletes the elements. "ohsbr" and "ohs" are the names of slot.h. */
#include "firewall/ruleset.h"

#include <assert.h>
#include <nftables/libnftables.h>
#include <string.h>

#define BEGIN_BOTH                                            \
	"table inet ohsandbox\ndelete table inet ohsandbox\n" \
	"table bridge ohsandbox\ndelete table bridge ohsandbox\n"

const char ruleset_text[] =
	/* (Sets without a size grow with their elements; one with a size takes its memory at once.)
	 *
	 * Frames. A session's port lets in what bears its own addresses and nothing else: no ARP (all
	 * neighbours are static), no IPv6, no VLAN tag. Nothing is bridged from port to port. Runs
	 * before anything else in the kernel looks at the frame. */
	"table bridge ohsandbox {\n"
	"	set ports {\n"
	"		type ifname . ether_addr . ipv4_addr\n"
	"	}\n"
	"	chain prerouting {\n"
	"		type filter hook prerouting priority -400; policy accept;\n"
	"		iifname \"ohs*\" jump session\n"
	"	}\n"
	"	chain session {\n"
	"		ether type != ip counter drop\n"
	"		iifname . ether saddr . ip saddr @ports return\n"
	"		counter drop\n"
	"	}\n"
	"	chain forward {\n"
	"		type filter hook forward priority -400; policy accept;\n"
	"		iifname \"ohs*\" counter drop\n"
	"		oifname \"ohs*\" counter drop\n"
	"	}\n"
	"}\n"
	/* Packets. Base chains come before those of other firewalls, which may drop more. */
	"table inet ohsandbox {\n"
	/* who may go out at all */
	"	set nat {\n"
	"		type ipv4_addr\n"
	"	}\n"
	/* session . resolver: the exceptions from @closed, for names alone */
	"	set resolvers {\n"
	"		type ipv4_addr . ipv4_addr\n"
	"	}\n"
	/* interfaces that forward only because we switched it on */
	"	set uplinks {\n"
	"		type ifname\n"
	"	}\n"
	"	set flows {\n"
	"		type ipv4_addr\n"
	"		size 8192\n"
	"		flags dynamic\n"
	"	}\n"
	/* Never to be reached from a session: this network, private, shared (CGNAT, and the metadata
	 * service of one cloud), loopback, link-local (metadata), protocol assignments, 6to4 relays,
	 * benchmarks (ours), multicast, reserved, broadcast. */
	"	set closed {\n"
	"		type ipv4_addr\n"
	"		flags interval\n"
	"		elements = { 0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16,\n"
	"			172.16.0.0/12, 192.0.0.0/24, 192.88.99.0/24, 192.168.0.0/16, 198.18.0.0/15,\n"
	"			224.0.0.0/3 }\n"
	"	}\n"
	/* To the host: replies only, in every mode. A resolver that is the host's own address is
	 * answered on its port. */
	"	chain input {\n"
	"		type filter hook input priority -10; policy accept;\n"
	"		iifname \"ohsbr*\" jump to_host\n"
	"	}\n"
	"	chain to_host {\n"
	"		meta nfproto ipv4 jump replies\n"
	"		ip saddr . ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept\n"
	"		counter drop\n"
	"	}\n"
	/* `related` is for ICMP errors alone: helpers of conntrack could be talked into more. */
	"	chain replies {\n"
	"		ct state established accept\n"
	"		ct state related meta l4proto icmp accept\n"
	"	}\n"
	"	chain forward {\n"
	"		type filter hook forward priority -10; policy accept;\n"
	"		iifname \"ohsbr*\" jump from_session\n"
	"		oifname \"ohsbr*\" jump to_session\n"
	"		iifname @uplinks counter drop\n"
	"	}\n"
	"	chain from_session {\n"
	"		oifname \"ohsbr*\" counter drop\n"
	"		meta nfproto != ipv4 counter drop\n"
	"		ct state invalid counter drop\n"
	"		tcp flags syn tcp option maxseg size set rt mtu\n"
	"		ip saddr . ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 jump leave\n"
	"		ip saddr != @nat counter drop\n"
	"		ip daddr @closed counter drop\n"
	"		fib daddr type != unicast counter drop\n"
	"		jump leave\n"
	"	}\n"
	/* The host's table of connections is shared by all: nobody gets more than a part of it. */
	"	chain leave {\n"
	"		ct state new add @flows { ip saddr ct count over 4096 } counter drop\n"
	"		accept\n"
	"	}\n"
	"	chain to_session {\n"
	"		meta nfproto ipv4 jump replies\n"
	"		counter drop\n"
	"	}\n"
	"	chain postrouting {\n"
	"		type nat hook postrouting priority srcnat; policy accept;\n"
	"		iifname \"ohsbr*\" oifname != \"ohsbr*\" masquerade\n"
	"	}\n"
	"}\n";

static int run(const char *commands, struct err *e)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	const char *words;
	int r = 0;

	if (!nft)
		return err_code(e, ENOMEM, "nftables: out of memory");
	/* Kept from standard output and error: the first line goes into *e. */
	if (nft_ctx_buffer_output(nft) || nft_ctx_buffer_error(nft))
		r = err_code(e, ENOMEM, "nftables: out of memory");
	else if (nft_run_cmd_from_buffer(nft, commands) < 0) {
		words = nft_ctx_get_error_buffer(nft);
		r = err_code(e, EIO, "nftables: %.*s", (int)strcspn(words, "\n"), words);
	}
	nft_ctx_free(nft);
	return r;
}

int ruleset_up(struct err *e)
{
	char commands[sizeof(BEGIN_BOTH) + 8192];

	static_assert(sizeof(ruleset_text) < 8192, "the ruleset outgrew its buffer");
	(void)strcpy(commands, BEGIN_BOTH);
	(void)strcat(commands, ruleset_text);
	return run(commands, e);
}

int ruleset_down(struct err *e)
{
	return run(BEGIN_BOTH, e);
}
