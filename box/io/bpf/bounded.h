/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whose packets are taken that belong to no followed connection: they count against the limit of a tenant. */
#ifndef WINDLASS_BOUNDED_H
#define WINDLASS_BOUNDED_H

#include <linux/in.h>
#include "settings.h"
#include "wire/network.h"

#define BOUNDED_MAX 1024 /* policy has no more; src/program/switches.rs: senders_key */

struct senders {
	__u32 bits;
	__be32 first[4]; /* not a union address, which is aligned to 8 bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, BOUNDED_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct senders);
	__type(value, __u8);
} bounded SEC(".maps");

/* ICMP goes on: path MTU and neighbours are found with it. */
static __always_inline int is_bounded(const struct network *net)
{
	struct senders of = { .bits = 128 };

	__builtin_memcpy(of.first, net->src.parts, sizeof(of.first));
	if (net->protocol == IPPROTO_ICMP || net->protocol == IPPROTO_ICMPV6)
		return 0;
	return bpf_map_lookup_elem(&bounded, &of) != 0;
}

#endif
