/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From the IP header to the transport header; core/wire/src/network/mod.rs. */
#ifndef WINDLASS_WIRE_NETWORK_H
#define WINDLASS_WIRE_NETWORK_H

#include "link.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd

/* As it stands in the IPv6 header; IPv4 is ::ffff:a.b.c.d. */
union address {
	__be32 parts[4];
	__u64 words[2];
};

/* What the layers below the transport say. */
struct network {
	__u32 transport; /* where the transport header begins */
	__u32 transport_len; /* of transport header and payload, by the IP header */
	__u32 v6;
	__u32 protocol;
	union address src;
	union address dst;
};

#include "ipv4.h"
#include "ipv6.h"

/* Reads everything up to the transport header of an unfragmented packet. Of a fragment it says who has sent it. */
static __always_inline enum unparsed network(const struct frame *frame, struct link *link,
					     struct network *net)
{
	enum unparsed why = link_walk(frame, link);

	if (why)
		return why;
	switch (link->ethertype) {
	case ETHERTYPE_IPV4:
		return ipv4(frame, link, net);
	case ETHERTYPE_IPV6:
		return ipv6(frame, link, net);
	default:
		return NOT_IP;
	}
}

#endif
