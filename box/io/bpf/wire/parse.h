/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a frame to its TCP header; core/wire/src/parse.rs. */
#ifndef WINDLASS_WIRE_PARSE_H
#define WINDLASS_WIRE_PARSE_H

#include <linux/in.h>
#include <linux/tcp.h>
#include "network.h"

/* The headers of a TCP packet. */
struct segment {
	struct link link;
	struct network net;
	const struct tcphdr *tcp;
};

static __always_inline int is_mapped(const union address *address)
{
	return !address->words[0] && address->parts[2] == bpf_htonl(0xffff);
}

/* The TCP header without its options, which must be there. What they say is for the worker to read. */
static __always_inline enum unparsed tcp(const struct frame *frame, const struct network *net,
					 const struct tcphdr **tcp)
{
	const struct tcphdr *header = frame->begin + net->transport;
	__u32 header_len;

	if (net->protocol != IPPROTO_TCP)
		return NOT_TCP;
	/* Such a packet would go by the name of an IPv4 flow. */
	if (net->v6 && (is_mapped(&net->src) || is_mapped(&net->dst)))
		return MALFORMED;
	if ((void *)(header + 1) > frame->end)
		return MALFORMED;
	header_len = header->doff * 4;
	if (header_len < sizeof(*header) || header_len > net->transport_len)
		return MALFORMED;
	if ((void *)header + header_len > frame->end)
		return MALFORMED;
	*tcp = header;
	return PARSED;
}

/* Reads a frame's headers: whose it is, and how. */
static __always_inline enum unparsed parse(const struct frame *frame, struct segment *segment)
{
	enum unparsed why = network(frame, &segment->link, &segment->net);

	return why ? why : tcp(frame, &segment->net, &segment->tcp);
}

#endif
