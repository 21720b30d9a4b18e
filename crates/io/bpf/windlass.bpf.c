// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Takes the TCP packets of a bridge port that belong to a connection which the box follows, or begin one,
 * into AF_XDP sockets and passes everything else to the bridge. When in doubt, pass: the bridge forwards as it always did. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_VLAN_TAGS 2
#define MAX_V6_EXTENSIONS 6
#define MAX_SOCKETS 256     /* of both interfaces; src/program.rs: MAX_SOCKETS */
#define OUTSIDE_FIRST 128   /* index of the outside's first queue; src/program.rs: QUEUES_PER_SIDE */
#define MAX_FLOWS 1024		/* src/program.rs asks for as many as the limits allow */
#define SYN_PREFIXES 4096	/* prefixes are told apart by a hash: two that meet share a share */
#define SYN_BURST_NS 250000000ULL /* so much of the rate may come at once */
#define VLAN_ID_MASK 0x0fff
#define IPV4_MF_OR_OFFSET 0x3fff
#define IPV6_FRAGMENT 44
#define MISSED_NAMED 64	/* src/pulse.rs: MISSED_NAMED */
#define NO_NUMBER 0xffffffffU	/* src/pulse.rs: a connection that has none */
#define MACHINE_PAUSE_NS 200000000LL /* what a hypervisor takes at most, mostly; no time-out of TCP is shorter */

/* Indices of `control`; src/program.rs: Control. */
enum {
	TAKE,		/* 0: pass everything, 1: take */
	ALL_PORTS,	/* 1: every port is governed, `ports` is not looked at */
	MAX_FRAME,	/* longest frame to take, bytes: a GSO segment goes by the bridge */
	PATIENCE_MS,	/* how long a socket may go unread before its packets pass; 0: for ever */
	ALL_FLOWS,	/* 1: packets of every connection are taken, `followed` is not looked at */
	PREFIX_SYN_NS,	/* time of one SYN at the rate of a source prefix, ns; 0: any rate */
	SEED,		/* keeps others from choosing who shares a share */
	CONTROL_ENTRIES,
};

/* Indices of `counters`; src/program.rs: XdpCounters. */
enum {
	TAKEN,
	PASSED_BYPASS,
	PASSED_NOT_TCP,
	PASSED_FRAGMENT,
	PASSED_PORT,
	PASSED_NOT_FOLLOWED,
	PASSED_MALFORMED,
	PASSED_TOO_LONG,
	PASSED_LOCAL,
	PASSED_NO_SOCKET,
	PASSED_UNREAD,
	PASSED_SYN_RATE,
	COUNTER_ENTRIES,
};

/* One connection, whichever way the packet goes; src/program.rs: flow_key. */
struct flow {
	__u64 low[2];
	__u64 high[2];
	__u16 low_port;
	__u16 high_port;
	__u16 vlan;
	__u16 inner_vlan;
};

struct vlan_tag {
	__be16 tci;
	__be16 protocol;
};

struct extension {
	__u8 next;
	__u8 length; /* in units of 8 bytes, the first not counted */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CONTROL_ENTRIES);
	__type(key, __u32);
	__type(value, __u32);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u16);
	__type(value, __u8);
} ports SEC(".maps");

/* The connections of which the workers want the packets, with the number by which their worker knows them.
 * The workers alone write it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow);
	__type(value, __u32);
} followed SEC(".maps");

/* When the SYNs that were taken so far would have come at the rate that is allowed, ns: of each socket,
 * and of each source prefix. Two CPUs may write at once; a SYN more is taken then. The workers set the rate of
 * their sockets. */
struct syn_rate {
	__u64 due;
	__u64 each;	/* time of one SYN, ns; 0: any rate */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SOCKETS);
	__type(key, __u32);
	__type(value, struct syn_rate);
} syns_of_socket SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SYN_PREFIXES);
	__type(key, __u32);
	__type(value, __u64);
} syns_of_prefix SEC(".maps");

/* MAC addresses of the box itself, in the low 6 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u64);
	__type(value, __u8);
} local_macs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, MAX_SOCKETS);
	__type(key, __u32);
	__type(value, __u32);
} xsks SEC(".maps");

/* Whether anybody reads the sockets of a queue, that of the inside and that of the outside: one worker
 * does; src/pulse.rs: Pulse. Two CPUs may write at once; what is lost by it is a few microseconds of
 * the clock. */
struct pulse {
	__u64 progress;	/* written by the reader alone: grows when it has taken packets */
	__u64 seen;	/* `progress` when the last packet came */
	__u64 clock;	/* ns, while packets come: see `is_read` */
	__u64 at;	/* when the last packet came */
	__u64 since;	/* `clock` when progress was last seen */
	__u64 missed;	/* packets that passed because nobody read */
	__u32 numbers[MISSED_NAMED]; /* the connections of the last of these */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OUTSIDE_FIRST);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct pulse);
} pulses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_ENTRIES);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &what);

	if (n)
		(*n)++;
}

static __always_inline int pass(__u32 why)
{
	count(why);
	return XDP_PASS;
}

static __always_inline __u32 setting(__u32 which)
{
	__u32 *value = bpf_map_lookup_elem(&control, &which);

	return value ? *value : 0;
}

/* The box's own traffic, and what a bridge floods, is the kernel's. */
static __always_inline int is_local(const struct ethhdr *eth)
{
	__u64 mac = 0;

	if (eth->h_dest[0] & 1)
		return 1;
	__builtin_memcpy(&mac, eth->h_dest, ETH_ALEN);
	return bpf_map_lookup_elem(&local_macs, &mac) != 0;
}

static __always_inline int is_governed(__u16 source, __u16 dest)
{
	return setting(ALL_PORTS) || bpf_map_lookup_elem(&ports, &source) ||
	       bpf_map_lookup_elem(&ports, &dest);
}

/* Any total order does, as long as user space uses the same. */
static __always_inline int in_order(const __u64 *src, __u16 sport, const __u64 *dst, __u16 dport)
{
	if (src[0] != dst[0])
		return src[0] < dst[0];
	if (src[1] != dst[1])
		return src[1] < dst[1];
	return sport <= dport;
}

static __always_inline __u32 *find_followed(struct flow *flow, const __u64 *src, __u16 sport,
				       const __u64 *dst, __u16 dport)
{
	int keep = in_order(src, sport, dst, dport);

	flow->low[0] = keep ? src[0] : dst[0];
	flow->low[1] = keep ? src[1] : dst[1];
	flow->high[0] = keep ? dst[0] : src[0];
	flow->high[1] = keep ? dst[1] : src[1];
	flow->low_port = keep ? sport : dport;
	flow->high_port = keep ? dport : sport;
	return bpf_map_lookup_elem(&followed, flow);
}

static __always_inline void mapped(__u64 *to, __be32 v4)
{
	to[0] = 0;
	to[1] = (__u64)bpf_htonl(0xffff) | (__u64)v4 << 32;
}

/* False if the reader has made no progress for longer than it may since a packet came. A pause between
 * two packets counts as four fifths of the patience: when the whole machine was paused, the reader gets
 * the rest of it to run again. A longer pause is that of a sender whose first packet was not read. */
static __always_inline int is_read(__u32 queue, int follows, __u32 number)
{
	struct pulse *pulse = bpf_map_lookup_elem(&pulses, &queue);
	__s64 patience = (__s64)setting(PATIENCE_MS) * 1000000;
	__u64 now, progress;
	__s64 step;

	if (!pulse || !patience)
		return 1;
	now = bpf_ktime_get_ns();
	/* Signed: the other CPU may have put the time, and the clock, ahead of what this one knows. */
	step = (__s64)(now - pulse->at);
	if (step < 0)
		step = 0;
	if (step > patience / 5 * 4 && step < MACHINE_PAUSE_NS)
		step = patience / 5 * 4;
	pulse->at = now;
	pulse->clock += step;
	progress = *(volatile __u64 *)&pulse->progress;
	if (progress != pulse->seen) {
		pulse->seen = progress;
		pulse->since = pulse->clock;
	}
	if ((__s64)(pulse->clock - pulse->since) <= patience)
		return 1;
	/* A connection that nobody follows yet is not missed. */
	if (follows) {
		__u64 place = __sync_fetch_and_add(&pulse->missed, 1);

		pulse->numbers[place % MISSED_NAMED] = number;
	}
	return 0;
}

/* A place in time for one more at a rate of one in `each` ns, up to a burst ahead of the clock. */
static __always_inline int has_turn(__u64 *due, __u64 each, __u64 now)
{
	__u64 at = *due > now ? *due : now;

	if (!each)
		return 1;
	if (at - now > SYN_BURST_NS)
		return 0;
	*due = at + each;
	return 1;
}

/* The share of a source: those of one /24, or of one /48 of IPv6, have one (engine/admission.rs). */
static __always_inline __u32 share(const __u64 *src)
{
	__u64 prefix = src[0] ? bpf_be64_to_cpu(src[0]) >> 16 : bpf_be64_to_cpu(src[1]) >> 8;

	prefix ^= (__u64)setting(SEED) << 32 | setting(SEED);
	prefix = (prefix ^ prefix >> 30) * 0xbf58476d1ce4e5b9ULL;
	prefix = (prefix ^ prefix >> 27) * 0x94d049bb133111ebULL;
	return (prefix ^ prefix >> 31) % SYN_PREFIXES;
}

/* Whether the worker is asked to follow the connection that this SYN begins. */
static __always_inline int is_admitted(const __u64 *src, __u32 socket)
{
	__u32 prefix = share(src);
	__u64 *of_prefix = bpf_map_lookup_elem(&syns_of_prefix, &prefix);
	struct syn_rate *of_socket = bpf_map_lookup_elem(&syns_of_socket, &socket);
	__u64 now = bpf_ktime_get_ns();

	return of_prefix && of_socket &&
	       has_turn(of_prefix, setting(PREFIX_SYN_NS), now) &&
	       has_turn(&of_socket->due, of_socket->each, now);
}

/* What lies in front of a packet that is taken; src/xdp/frames.rs: arrived_at. */
struct arrival {
	__u64 mark;	/* SEED, twice: it is this program's */
	__u64 at;	/* ns */
};

/* The worker may be late: when a packet came is told in front of it. Interfaces that have no room for that
 * go without. The pointers into the packet are not valid any more. */
static __always_inline void tell_arrival(struct xdp_md *ctx)
{
	struct arrival *arrival;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*arrival)))
		return;
	arrival = (void *)(long)ctx->data_meta;
	if ((void *)(arrival + 1) > (void *)(long)ctx->data)
		return;
	arrival->mark = (__u64)setting(SEED) << 32 | setting(SEED);
	arrival->at = bpf_ktime_get_ns();
}

static __always_inline int steer(struct xdp_md *ctx, __u32 first_socket)
{
	void *p = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = p;
	struct flow flow = {};
	__u64 src[2], dst[2];
	struct tcphdr *tcp;
	__be16 protocol;
	__u32 socket, *number;
	int follows, verdict;

	if (!setting(TAKE))
		return pass(PASSED_BYPASS);
	if (p + sizeof(*eth) > end)
		return pass(PASSED_MALFORMED);
	protocol = eth->h_proto;
	p += sizeof(*eth);

#pragma unroll
	for (int i = 0; i < MAX_VLAN_TAGS; i++) {
		struct vlan_tag *tag = p;

		if (protocol != bpf_htons(ETH_P_8021Q) && protocol != bpf_htons(ETH_P_8021AD))
			break;
		if (p + sizeof(*tag) > end)
			return pass(PASSED_MALFORMED);
		if (i == 0)
			flow.vlan = bpf_ntohs(tag->tci) & VLAN_ID_MASK;
		else
			flow.inner_vlan = bpf_ntohs(tag->tci) & VLAN_ID_MASK;
		protocol = tag->protocol;
		p += sizeof(*tag);
	}

	if (protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = p;

		if (p + sizeof(*ip) > end || ip->version != 4 || ip->ihl < 5)
			return pass(PASSED_MALFORMED);
		if (ip->protocol != IPPROTO_TCP)
			return pass(PASSED_NOT_TCP);
		if (ip->frag_off & bpf_htons(IPV4_MF_OR_OFFSET))
			return pass(PASSED_FRAGMENT);
		mapped(src, ip->saddr);
		mapped(dst, ip->daddr);
		p += ip->ihl * 4;
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = p;
		__u8 next;

		if (p + sizeof(*ip) > end || ip->version != 6)
			return pass(PASSED_MALFORMED);
		next = ip->nexthdr;
		__builtin_memcpy(src, &ip->saddr, sizeof(src));
		__builtin_memcpy(dst, &ip->daddr, sizeof(dst));
		p += sizeof(*ip);
		for (int i = 0; i < MAX_V6_EXTENSIONS; i++) {
			struct extension *ext = p;

			if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING &&
			    next != IPPROTO_DSTOPTS)
				break;
			if (p + sizeof(*ext) > end)
				return pass(PASSED_MALFORMED);
			next = ext->next;
			p += (ext->length + 1) * 8;
		}
		if (next == IPV6_FRAGMENT)
			return pass(PASSED_FRAGMENT);
		if (next != IPPROTO_TCP)
			return pass(PASSED_NOT_TCP);
	} else {
		return pass(PASSED_NOT_TCP);
	}

	tcp = p;
	if (p + sizeof(*tcp) > end)
		return pass(PASSED_MALFORMED);
	if (!is_governed(bpf_ntohs(tcp->source), bpf_ntohs(tcp->dest)))
		return pass(PASSED_PORT);
	if (is_local(eth))
		return pass(PASSED_LOCAL);
	if (bpf_xdp_get_buff_len(ctx) > setting(MAX_FRAME))
		return pass(PASSED_TOO_LONG);
	socket = first_socket + ctx->rx_queue_index;
	number = find_followed(&flow, src, bpf_ntohs(tcp->source), dst, bpf_ntohs(tcp->dest));
	follows = number || setting(ALL_FLOWS);
	if (!follows && (!tcp->syn || tcp->ack || tcp->rst))
		return pass(PASSED_NOT_FOLLOWED);
	if (!is_read(ctx->rx_queue_index, follows, number ? *number : NO_NUMBER))
		return pass(PASSED_UNREAD);
	if (!follows && !is_admitted(src, socket))
		return pass(PASSED_SYN_RATE);
	tell_arrival(ctx);
	verdict = bpf_redirect_map(&xsks, socket, XDP_PASS);
	count(verdict == XDP_REDIRECT ? TAKEN : PASSED_NO_SOCKET);
	return verdict;
}

SEC("xdp.frags")
int windlass_inside(struct xdp_md *ctx)
{
	return ctx->rx_queue_index < OUTSIDE_FIRST ? steer(ctx, 0) : XDP_PASS;
}

SEC("xdp.frags")
int windlass_outside(struct xdp_md *ctx)
{
	return ctx->rx_queue_index < OUTSIDE_FIRST ? steer(ctx, OUTSIDE_FIRST) : XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
