/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What user space sets and is told; src/program.rs. */
#ifndef WINDLASS_SETTINGS_H
#define WINDLASS_SETTINGS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define MAX_SOCKETS 256		/* of both interfaces; src/program.rs: QUEUES_PER_SIDE, twice */
#define OUTSIDE_FIRST 128	/* index of the outside's first queue; src/program.rs: QUEUES_PER_SIDE */

/* Indices of `control`; src/program/switches.rs: Control. */
enum {
	TAKE,		/* 0: pass everything, 1: take */
	ALL_PORTS,	/* 1: every port is governed, `ports` is not looked at */
	MAX_FRAME,	/* longest frame to take, bytes: a GSO segment goes by the bridge */
	PATIENCE_MS,	/* how long a socket may go unread before its packets pass; 0: for ever */
	ALL_FLOWS,	/* 1: packets of every connection are taken, `followed` is not looked at */
	PREFIX_SYN_NS,	/* time of one SYN at the rate of a source prefix, ns; 0: any rate */
	SEED,		/* keeps others from choosing who shares a share */
	STRANGER_NS,	/* time of one packet of unknown connections, ns; 0: none is taken */
	BOUNDS,		/* what `bounded` is looked at for: BOUNDS_NON_TCP, BOUNDS_UNKNOWN_TCP */
	CONTROL_ENTRIES,
};

/* Bits of BOUNDS; src/program/switches.rs: bound. */
#define BOUNDS_NON_TCP 1
#define BOUNDS_UNKNOWN_TCP 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CONTROL_ENTRIES);
	__type(key, __u32);
	__type(value, __u32);
} control SEC(".maps");

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

#endif
