/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whether a worker reads what is taken; src/pulse.rs. */
#ifndef WINDLASS_PULSE_H
#define WINDLASS_PULSE_H

#include "settings.h"

#define MISSED_NAMED 64	/* src/pulse.rs: MISSED_NAMED */
#define NO_NUMBER 0xffffffffU	/* src/pulse.rs: a connection that has none */
#define MACHINE_PAUSE_NS 200000000LL /* what a hypervisor takes at most, mostly; no time-out of TCP is shorter */

/* Whether anybody reads the sockets of a queue, that of the inside and that of the outside: one worker
 * does; src/pulse.rs: Pulse. Two CPUs may write at once; what is lost by it is a few microseconds of
 * the clock. */
struct pulse {
	__u64 progress;	/* written by the reader alone: grows when it has taken packets */
	__u64 seen;	/* `progress` when the last packet came */
	__u64 clock;	/* ns, while packets come: see `is_read` */
	__u64 at;	/* when the last packet came */
	__u64 since;	/* `clock` when progress was last seen */
	__u64 missed;	/* packets that passed because nobody read */
	__u32 numbers[MISSED_NAMED]; /* the connections of the last of these */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OUTSIDE_FIRST);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct pulse);
} pulses SEC(".maps");

/* False if the reader has made no progress for longer than it may since a packet came. A pause between
 * two packets counts as four fifths of the patience: when the whole machine was paused, the reader gets
 * the rest of it to run again. A longer pause is that of a sender whose first packet was not read. */
static __always_inline int is_read(__u32 queue, int follows, __u32 number)
{
	struct pulse *pulse = bpf_map_lookup_elem(&pulses, &queue);
	__s64 patience = (__s64)setting(PATIENCE_MS) * 1000000;
	__u64 now, progress;
	__s64 step;

	if (!pulse || !patience)
		return 1;
	now = bpf_ktime_get_ns();
	/* Signed: the other CPU may have put the time, and the clock, ahead of what this one knows. */
	step = (__s64)(now - pulse->at);
	if (step < 0)
		step = 0;
	if (step > patience / 5 * 4 && step < MACHINE_PAUSE_NS)
		step = patience / 5 * 4;
	pulse->at = now;
	pulse->clock += step;
	progress = *(volatile __u64 *)&pulse->progress;
	if (progress != pulse->seen) {
		pulse->seen = progress;
		pulse->since = pulse->clock;
	}
	if ((__s64)(pulse->clock - pulse->since) <= patience)
		return 1;
	/* A connection that nobody follows yet is not missed. */
	if (follows) {
		__u64 place = __sync_fetch_and_add(&pulse->missed, 1);

		pulse->numbers[place % MISSED_NAMED] = number;
	}
	return 0;
}

#endif
