/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The frame, and what reading it comes to. */
#ifndef WINDLASS_WIRE_FRAME_H
#define WINDLASS_WIRE_FRAME_H

#include <linux/bpf.h>

struct frame {
	void *begin;
	void *end;	/* of its first contiguous part, which holds all headers */
	__u32 len;	/* of the whole frame */
};

/* core/wire/src/segment.rs: Unparsed. */
enum unparsed {
	PARSED,
	NOT_IP,
	NOT_TCP,
	FRAGMENT,
	MALFORMED,
};

#endif
