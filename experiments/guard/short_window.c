/* An algorithm with a hidden fault: its window never passes 15 segments, because somebody has kept it in four bits.
 * On a path of 10 ms and 10 Mbit/s nobody notices. On a longer one it harms, and the guard has to find that out. */
#include "windlass.h"

static const char about[] =
    "name = \"short_window\"\n"
    "summary = \"Additive increase, multiplicative decrease, at most 15 segments: an algorithm with a fault\"\n"
    "source = \"RFC 5681, and a mistake\"\n"
    "advice = \"For tests of the guard; never use it.\"\n"
    "slows_down_at = [\"loss\"]\n"
    "state_bytes = 8\n";

#define WINDOW_MAX 15

struct flow {
    uint64_t cwnd;
};
_Static_assert(sizeof(struct flow) == 8, "state_bytes");

static struct windlass_block block;

int32_t windlass_abi(void) { return WINDLASS_ABI; }
const char *windlass_about(void) { return about; }
struct windlass_block *windlass_block(void) { return &block; }

static void set(uint64_t cwnd)
{
    struct flow *f = (struct flow *)block.state;
    uint64_t most = WINDOW_MAX * (uint64_t)block.mss;
    f->cwnd = cwnd < most ? cwnd : most;
    setCwnd((int64_t)f->cwnd);
}

static uint64_t window(void) { return ((struct flow *)block.state)->cwnd; }

void on_start(void) { set(10 * block.mss); }

void on_ack(void) { set(window() + block.delivered); }

void on_congestion(void)
{
    uint64_t half = window() / 2;
    set(half > 2 * block.mss ? half : 2 * block.mss);
}

void on_rto(void) { set(block.mss); }
