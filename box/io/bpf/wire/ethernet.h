/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The Ethernet header; core/wire/src/link/ethernet.rs. */
#ifndef WINDLASS_WIRE_ETHERNET_H
#define WINDLASS_WIRE_ETHERNET_H

#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

static __always_inline enum unparsed enter_ethernet(const struct frame *frame, struct link *link)
{
	const struct ethhdr *header = frame->begin + link->at;

	if ((void *)(header + 1) > frame->end)
		return NOT_IP;
	link->ethertype = bpf_ntohs(header->h_proto);
	link->at += sizeof(*header);
	return PARSED;
}

#endif
