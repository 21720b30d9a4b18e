/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The IPv6 header and its extension headers; core/wire/src/network/ipv6.rs. */
#ifndef WINDLASS_WIRE_IPV6_H
#define WINDLASS_WIRE_IPV6_H

#include <linux/ipv6.h>

#define HOP_BY_HOP 0
#define ROUTING 43
#define FRAGMENT_HEADER 44
#define DESTINATION 60

/* The shortest extension header; longer ones have more bytes behind it. */
struct extension {
	__u8 next;
	__u8 length; /* in units of 8 bytes, the first not counted */
	__u8 type;
	__u8 segments_left; /* of a routing header */
	__u8 rest[4];
};

/* Walks the extension headers at `at`, of which the first is a `next`. */
static __always_inline enum unparsed extensions(const struct frame *frame, __u32 at, __u8 next,
						struct network *net)
{
	__u32 bytes = 0;

	/* Once more than there may be headers, for what is behind the last. */
	for (int i = 0; i <= EXTENSION_HEADERS_MAX; i++) {
		const struct extension *header = frame->begin + at + bytes;

		if (next == FRAGMENT_HEADER)
			return FRAGMENT;
		if (next != HOP_BY_HOP && next != ROUTING && next != DESTINATION) {
			net->transport = at + bytes;
			net->protocol = next;
			return PARSED;
		}
		if ((void *)(header + 1) > frame->end)
			return MALFORMED;
		if (next == ROUTING && header->segments_left)
			return MALFORMED;
		next = header->next;
		bytes += (header->length + 1) * 8;
		if (bytes > EXTENSION_BYTES_MAX)
			return MALFORMED;
	}
	return MALFORMED;
}

static __always_inline enum unparsed ipv6(const struct frame *frame, const struct link *link,
					  struct network *net)
{
	const struct ipv6hdr *header = frame->begin + link->at;
	enum unparsed why;
	__u32 end;

	if ((void *)(header + 1) > frame->end)
		return MALFORMED;
	if (header->version != 6)
		return MALFORMED;
	end = link->at + sizeof(*header) + bpf_ntohs(header->payload_len);
	if (end > frame->len)
		return MALFORMED;
	__builtin_memcpy(&net->src, &header->saddr, sizeof(net->src));
	__builtin_memcpy(&net->dst, &header->daddr, sizeof(net->dst));
	why = extensions(frame, link->at + sizeof(*header), header->nexthdr, net);
	if (why)
		return why;
	if (net->transport > end)
		return MALFORMED;
	net->transport_len = end - net->transport;
	net->v6 = 1;
	return PARSED;
}

#endif
