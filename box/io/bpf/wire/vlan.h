/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* VLAN tags; core/wire/src/link/vlan.rs. */
#ifndef WINDLASS_WIRE_VLAN_H
#define WINDLASS_WIRE_VLAN_H

#define ETHERTYPE_CTAG 0x8100
#define ETHERTYPE_STAG 0x88a8
#define VLAN_ID 0x0fff

/* A tag, behind its own ethertype. */
struct vlan_tag {
	__be16 tci;
	__be16 ethertype;
};

static __always_inline enum unparsed enter_vlan(const struct frame *frame, struct link *link)
{
	const struct vlan_tag *header = frame->begin + link->at;

	if ((void *)(header + 1) > frame->end)
		return NOT_IP;
	if (link->tags >= VLANS_MAX)
		return NOT_IP;
	link->vlans[link->tags++] = bpf_ntohs(header->tci) & VLAN_ID;
	link->ethertype = bpf_ntohs(header->ethertype);
	link->at += sizeof(*header);
	return PARSED;
}

#endif
