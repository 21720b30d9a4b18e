/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How many SYNs are taken. */
#ifndef WINDLASS_ADMISSION_H
#define WINDLASS_ADMISSION_H

#include "settings.h"
#include "wire/network.h"

#define SYN_PREFIXES 4096	/* prefixes are told apart by a hash: two that meet share a share */
#define SYN_BURST_NS 250000000ULL /* so much of the rate may come at once */

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
static __always_inline __u32 share(const union address *src)
{
	__u64 prefix = src->words[0] ? bpf_be64_to_cpu(src->words[0]) >> 16 :
					bpf_be64_to_cpu(src->words[1]) >> 8;

	prefix ^= (__u64)setting(SEED) << 32 | setting(SEED);
	prefix = (prefix ^ prefix >> 30) * 0xbf58476d1ce4e5b9ULL;
	prefix = (prefix ^ prefix >> 27) * 0x94d049bb133111ebULL;
	return (prefix ^ prefix >> 31) % SYN_PREFIXES;
}

/* Whether the worker is asked to follow the connection that this SYN begins. */
static __always_inline int is_admitted(const union address *src, __u32 socket)
{
	__u32 prefix = share(src);
	__u64 *of_prefix = bpf_map_lookup_elem(&syns_of_prefix, &prefix);
	struct syn_rate *of_socket = bpf_map_lookup_elem(&syns_of_socket, &socket);
	__u64 now = bpf_ktime_get_ns();

	return of_prefix && of_socket &&
	       has_turn(of_prefix, setting(PREFIX_SYN_NS), now) &&
	       has_turn(&of_socket->due, of_socket->each, now);
}

/* When the packets of unknown connections that were taken so far would have come at the rate that is allowed, ns:
 * of each socket. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SOCKETS);
	__type(key, __u32);
	__type(value, __u64);
} strangers_of_socket SEC(".maps");

/* Whether the worker looks at this packet of a connection that it does not know, to learn of it. */
static __always_inline int is_watched(__u32 socket)
{
	__u32 each = setting(STRANGER_NS);
	__u64 *due;

	if (!each)
		return 0;
	due = bpf_map_lookup_elem(&strangers_of_socket, &socket);
	return due && has_turn(due, each, bpf_ktime_get_ns());
}

#endif
