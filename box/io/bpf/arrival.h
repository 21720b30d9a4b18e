/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* When a packet came. */
#ifndef WINDLASS_ARRIVAL_H
#define WINDLASS_ARRIVAL_H

#include "settings.h"

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

#endif
