/* The interface between Windlass and a plugin: a congestion control algorithm as a WebAssembly module.
 *
 *   clang --target=wasm32 -O2 -ffreestanding -nostdlib -Wl,--no-entry -Wl,-zstack-size=16384 \
 *         -I sdk/c -o mine.wasm mine.c
 *   windlass algorithm add mine.wasm
 *
 * A plugin exports its memory and the functions that are declared with WINDLASS_EXPORT below; on_start,
 * on_ack, on_congestion and on_rto there must be, the others may be left out. It imports
 * nothing but the functions of the module "windlass". Before each call the host fills the block; the
 * call decides with setCwnd() and its sisters, and what it writes into block.state comes back with
 * the next call of the same flow. Whatever else a plugin keeps in its memory is shared by all flows
 * of a worker and may vanish: a plugin whose decisions depend on it is refused.
 *
 * Bytes, nanoseconds and bytes per second, everywhere. A time or rate that is not known is 0. An unknown
 * getMinRTT() is WINDLASS_UNKNOWN_MIN_RTT, as in the paper; a module that speaks version 1 is told 0.
 */
#ifndef WINDLASS_H
#define WINDLASS_H

#include <stdint.h>

#define WINDLASS_ABI 2
#define WINDLASS_UNKNOWN_MIN_RTT INT64_MAX
#define WINDLASS_STATE_BYTES 256
#define WINDLASS_PARAMETERS 8

/* block.flags */
#define WINDLASS_CWND_LIMITED 1   /* on_ack: the window was the limit during the last round trip */
#define WINDLASS_IN_RECOVERY 2    /* on_ack: a recovery episode is open, and this ACK does not end it */
#define WINDLASS_APP_LIMITED 4    /* on_ack: of the rate sample; on_sent: the sender is the limit */
#define WINDLASS_RETRANSMISSION 8 /* on_sent: it has been sent before */
#define WINDLASS_ECN 16           /* on_congestion: a mark, not a loss */
#define WINDLASS_STARTING 32      /* on_start: moves here from a start-up that had not ended */
#define WINDLASS_ROOMY 64         /* on_start: moves here from one that loss has kept from the rest */

/* setPhase() */
#define WINDLASS_SLOW_START 0
#define WINDLASS_AVOIDANCE 1
#define WINDLASS_STARTUP 2
#define WINDLASS_DRAIN 3
#define WINDLASS_PROBE_BW 4
#define WINDLASS_PROBE_RTT 5

struct windlass_block {
    uint64_t now;                  /* not in on_start */
    uint64_t acked;                /* on_ack: by which the cumulative ACK advanced */
    uint64_t delivered;            /* on_ack: newly known to be delivered, cumulatively or selectively */
    uint64_t lost;                 /* on_ack, on_congestion: newly marked lost */
    uint64_t inflight_before;      /* on_ack, on_congestion: in flight before that */
    uint64_t inflight;             /* on_ack, on_sent: in flight after that */
    uint64_t rtt;                  /* on_ack: of the newest packet that was sent once */
    uint64_t rate_delivered;       /* on_ack: bytes of the delivery-rate sample; its rate is getCBW() */
    uint64_t rate_interval;        /* on_ack: its time; 0: there is no sample */
    uint64_t rate_prior_delivered; /* on_ack: path_delivered when its newest packet was sent */
    uint64_t flags;                /* WINDLASS_CWND_LIMITED and so on */
    uint64_t ce_bytes;             /* on_ack: newly reported as marked */
    uint64_t lost_ranges;          /* on_ack: discontiguous ranges newly marked lost */
    uint64_t sent;                 /* on_sent: how much */
    uint64_t idle;                 /* on_idle_restart: for how long nothing was in flight */
    uint64_t seed;                 /* on_start: all the randomness there is */
    uint64_t mss;                  /* payload of a full segment, never 0 */
    uint64_t srtt, rttvar;         /* RFC 6298 */
    uint64_t path_min_rtt, path_max_rtt, path_max_bw; /* measured, not aged */
    uint64_t path_delivered, path_lost, path_inflight; /* of the flow so far; now */
    uint64_t cwnd, ssthresh, pacing_rate; /* as decided last; ssthresh UINT64_MAX: none */
    double parameters[WINDLASS_PARAMETERS];       /* in the order of windlass_about */
    uint8_t state[WINDLASS_STATE_BYTES] __attribute__((aligned(8)));
};

#define WINDLASS_EXPORT(name) __attribute__((export_name(name)))
#define WINDLASS_IMPORT(name) __attribute__((import_module("windlass"), import_name(name)))

/* Table 1 of the Mystique paper, and getMaxRTT (its §3.1). min_rtt, max_rtt and max_bw are the extremes since the flow began; with a period
 * they take a step back every so often, and ACKs that show more extreme ones undo it. */
WINDLASS_IMPORT("getCRTT") int64_t getCRTT(void);     /* newest RTT */
WINDLASS_IMPORT("getCBW") int64_t getCBW(void);       /* newest delivery rate */
WINDLASS_IMPORT("getMinRTT") int64_t getMinRTT(void);
WINDLASS_IMPORT("getMaxRTT") int64_t getMaxRTT(void); /* 0 while unknown */
WINDLASS_IMPORT("getMaxBW") int64_t getMaxBW(void);
WINDLASS_IMPORT("setPeriod") void setPeriod(int64_t ns);     /* 0, as it begins: no steps */
WINDLASS_IMPORT("setTstep") void setTstep(int64_t ns);       /* what min_rtt grows by, and max_rtt loses */
WINDLASS_IMPORT("setBWstep") void setBWstep(int64_t rate);   /* what max_bw loses */
WINDLASS_IMPORT("isLoss") int32_t isLoss(void);       /* this event tells of loss or a mark, or recovery is open */
WINDLASS_IMPORT("setCwnd") void setCwnd(int64_t bytes);      /* at least a segment, at most 2^40 */

/* Beyond it. */
WINDLASS_IMPORT("setSsthresh") void setSsthresh(int64_t bytes); /* where recovery ends, at least a segment; INT64_MAX: none */
WINDLASS_IMPORT("setPacingRate") void setPacingRate(int64_t rate); /* 0, as it begins: no pacing */
WINDLASS_IMPORT("setPhase") void setPhase(int32_t phase);

/* Exports. windlass_about answers with TOML that a zero byte ends: docs/plugins.md. */
WINDLASS_EXPORT("windlass_abi") int32_t windlass_abi(void);
WINDLASS_EXPORT("windlass_about") const char *windlass_about(void);
WINDLASS_EXPORT("windlass_block") struct windlass_block *windlass_block(void);
WINDLASS_EXPORT("on_start") void on_start(void);
WINDLASS_EXPORT("on_ack") void on_ack(void);
WINDLASS_EXPORT("on_congestion") void on_congestion(void);
WINDLASS_EXPORT("on_rto") void on_rto(void);
WINDLASS_EXPORT("on_sent") void on_sent(void);
WINDLASS_EXPORT("on_recovery_exit") void on_recovery_exit(void);
WINDLASS_EXPORT("on_spurious") void on_spurious(void);
WINDLASS_EXPORT("on_idle_restart") void on_idle_restart(void);

#endif
