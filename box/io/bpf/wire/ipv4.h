/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The IPv4 header; core/wire/src/network/ipv4.rs. */
#ifndef WINDLASS_WIRE_IPV4_H
#define WINDLASS_WIRE_IPV4_H

#include <linux/ip.h>

#define MF_OR_OFFSET 0x3fff

static __always_inline void mapped(union address *to, __be32 v4)
{
	to->words[0] = 0;
	to->parts[2] = bpf_htonl(0xffff);
	to->parts[3] = v4;
}

static __always_inline enum unparsed ipv4(const struct frame *frame, const struct link *link,
					  struct network *net)
{
	const struct iphdr *header = frame->begin + link->at;
	__u32 header_len, total_len;

	if ((void *)(header + 1) > frame->end)
		return MALFORMED;
	header_len = header->ihl * 4;
	if (header->version != 4 || header_len < sizeof(*header))
		return MALFORMED;
	total_len = bpf_ntohs(header->tot_len);
	if (total_len < header_len || link->at + total_len > frame->len)
		return MALFORMED;
	mapped(&net->src, header->saddr);
	mapped(&net->dst, header->daddr);
	net->protocol = header->protocol;
	if (header->frag_off & bpf_htons(MF_OR_OFFSET))
		return FRAGMENT;
	net->transport = link->at + header_len;
	net->transport_len = total_len - header_len;
	net->v6 = 0;
	return PARSED;
}

#endif
