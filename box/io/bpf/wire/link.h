/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a frame's first byte to its IP header; core/wire/src/link/mod.rs. */
#ifndef WINDLASS_WIRE_LINK_H
#define WINDLASS_WIRE_LINK_H

#include "frame.h"
#include "limits.h"

#define VLANS_MAX 2

/* How far the walk has come. */
struct link {
	__u16 ethertype; /* of what is next */
	__u32 at;	/* where that begins */
	__u16 vlans[VLANS_MAX];
	__u32 tags;	/* that were entered */
};

#include "ethernet.h"
#include "vlan.h"

/* Walks the link layers up to what is no link layer, or to the limit. */
static __always_inline enum unparsed link_walk(const struct frame *frame, struct link *link)
{
	enum unparsed why = enter_ethernet(frame, link);

#pragma unroll
	for (int i = 0; i < LINK_LAYERS_MAX && !why; i++) {
		switch (link->ethertype) {
		case ETHERTYPE_CTAG:
		case ETHERTYPE_STAG:
			why = enter_vlan(frame, link);
			break;
		default:
			return PARSED;
		}
	}
	return why;
}

#endif
