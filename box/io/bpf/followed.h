/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whose packets are taken. */
#ifndef WINDLASS_FOLLOWED_H
#define WINDLASS_FOLLOWED_H

#include "settings.h"
#include "wire/parse.h"

#define MAX_FLOWS 1024	/* src/program.rs asks for as many as the limits allow */

/* One connection, whichever way the packet goes; src/program/switches.rs: flow_key. */
struct flow {
	union address low;
	union address high;
	__u16 low_port;
	__u16 high_port;
	__u16 vlan;
	__u16 inner_vlan;
};

/* The connections of which the workers want the packets, with the number by which their worker knows them.
 * The workers write it. While everything passes, who ends or begins anew is taken out of it: a worker that comes back asks
 * who is left. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow);
	__type(value, __u32);
} followed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u16);
	__type(value, __u8);
} ports SEC(".maps");

/* MAC addresses of the box itself, in the low 6 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u64);
	__type(value, __u8);
} local_macs SEC(".maps");

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
static __always_inline int in_order(const union address *src, __u16 sport,
				    const union address *dst, __u16 dport)
{
	if (src->words[0] != dst->words[0])
		return src->words[0] < dst->words[0];
	if (src->words[1] != dst->words[1])
		return src->words[1] < dst->words[1];
	return sport <= dport;
}

/* The name of a packet's connection. */
static __always_inline void name_flow(struct flow *flow, const struct segment *segment)
{
	const union address *src = &segment->net.src, *dst = &segment->net.dst;
	__u16 sport = bpf_ntohs(segment->tcp->source), dport = bpf_ntohs(segment->tcp->dest);
	int keep = in_order(src, sport, dst, dport);

	flow->low = keep ? *src : *dst;
	flow->high = keep ? *dst : *src;
	flow->low_port = keep ? sport : dport;
	flow->high_port = keep ? dport : sport;
	flow->vlan = segment->link.vlans[0];
	flow->inner_vlan = segment->link.vlans[1];
}

/* The number of a packet's connection, if a worker follows it. */
static __always_inline __u32 *find_followed(const struct segment *segment)
{
	struct flow flow = {};

	name_flow(&flow, segment);
	return bpf_map_lookup_elem(&followed, &flow);
}

static __always_inline void unfollow(const struct segment *segment)
{
	struct flow flow = {};

	name_flow(&flow, segment);
	bpf_map_delete_elem(&followed, &flow);
}

#endif
