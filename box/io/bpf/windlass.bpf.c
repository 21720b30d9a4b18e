// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Takes the TCP packets of a bridge port that belong to a connection which the box follows, or begin one,
 * into AF_XDP sockets, and other packets that count against a limit. Passes everything else to the bridge. When in doubt,
 * pass: the bridge forwards as it always did.
 *
 * wire/ reads headers as core/wire does, function by function, except that it leaves TCP options to the worker. A test
 * (src/program/agreement.rs) runs both over the same frames. */
#include "admission.h"
#include "arrival.h"
#include "bounded.h"
#include "followed.h"
#include "pulse.h"
#include "settings.h"
#include "wire/parse.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, MAX_SOCKETS);
	__type(key, __u32);
	__type(value, __u32);
} xsks SEC(".maps");

/* Says of which source the object was made: build.rs. */
const char source_hash[] SEC("source") = "windlass source " SOURCE_HASH;

static __always_inline int pass_unparsed(enum unparsed why)
{
	switch (why) {
	case NOT_IP:
	case NOT_TCP:
		return pass(PASSED_NOT_TCP);
	case FRAGMENT:
		return pass(PASSED_FRAGMENT);
	default:
		return pass(PASSED_MALFORMED);
	}
}

static __always_inline int take(struct xdp_md *ctx, __u32 socket)
{
	int verdict;

	tell_arrival(ctx);
	verdict = bpf_redirect_map(&xsks, socket, XDP_PASS);
	count(verdict == XDP_REDIRECT ? TAKEN : PASSED_NO_SOCKET);
	return verdict;
}

/* A packet that belongs to no followed connection, and counts against a limit. */
static __always_inline int take_bounded(struct xdp_md *ctx, const struct frame *frame, __u32 socket)
{
	if (is_local(frame->begin))
		return pass(PASSED_LOCAL);
	if (frame->len > setting(MAX_FRAME))
		return pass(PASSED_TOO_LONG);
	if (!is_read(ctx->rx_queue_index, 0, NO_NUMBER))
		return pass(PASSED_UNREAD);
	return take(ctx, socket);
}

static __always_inline int steer(struct xdp_md *ctx, __u32 first_socket)
{
	struct frame frame = {
		.begin = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
		.len = bpf_xdp_get_buff_len(ctx),
	};
	struct segment segment = {};
	const struct tcphdr *tcp;
	enum unparsed why;
	__u32 socket = first_socket + ctx->rx_queue_index, *number;
	int follows, begins;

	why = parse(&frame, &segment);
	if (!setting(TAKE)) {
		/* What the worker knows of a connection says nothing of the next one of that name. */
		if (!why && (segment.tcp->syn || segment.tcp->rst))
			unfollow(&segment);
		return pass(PASSED_BYPASS);
	}
	if ((why == NOT_TCP || why == FRAGMENT) && (setting(BOUNDS) & BOUNDS_NON_TCP) && is_bounded(&segment.net))
		return take_bounded(ctx, &frame, socket);
	if (why)
		return pass_unparsed(why);
	tcp = segment.tcp;
	if (!is_governed(bpf_ntohs(tcp->source), bpf_ntohs(tcp->dest)))
		return pass(PASSED_PORT);
	if (is_local(frame.begin))
		return pass(PASSED_LOCAL);
	if (frame.len > setting(MAX_FRAME))
		return pass(PASSED_TOO_LONG);
	number = find_followed(&segment);
	follows = number || setting(ALL_FLOWS);
	begins = tcp->syn && !tcp->ack && !tcp->rst;
	if (!follows && !begins && (setting(BOUNDS) & BOUNDS_UNKNOWN_TCP) && is_bounded(&segment.net))
		return take_bounded(ctx, &frame, socket);
	if (!follows && !begins && (tcp->syn || tcp->fin || tcp->rst || !is_watched(socket)))
		return pass(PASSED_NOT_FOLLOWED);
	if (!is_read(ctx->rx_queue_index, follows, number ? *number : NO_NUMBER))
		return pass(PASSED_UNREAD);
	if (!follows && begins && !is_admitted(&segment.net.src, socket))
		return pass(PASSED_SYN_RATE);
	return take(ctx, socket);
}

SEC("xdp.frags")
int windlass_inside(struct xdp_md *ctx)
{
	return ctx->rx_queue_index < OUTSIDE_FIRST ? steer(ctx, 0) : XDP_PASS;
}

SEC("xdp.frags")
int windlass_outside(struct xdp_md *ctx)
{
	return ctx->rx_queue_index < OUTSIDE_FIRST ? steer(ctx, OUTSIDE_FIRST) : XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
