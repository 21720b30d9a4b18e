/* NewReno (RFC 5681, RFC 6582) as a plugin: the window of Windlass' own `reno`, byte for byte. The host's
 * PRR spreads the reductions (prr = true), so on_congestion says only where recovery ends. */
#include "windlass.h"

static const char about[] =
    "name = \"reno_c\"\n"
    "summary = \"NewReno as a plugin in C: halves on loss, one segment per round trip\"\n"
    "source = \"RFC 5681, RFC 6582\"\n"
    "advice = \"An example to begin with; reno does the same and costs less.\"\n"
    "slows_down_at = [\"loss\", \"ecn\"]\n"
    "state_bytes = 56\n"
    "[[parameter]]\n"
    "name = \"beta\"\n"
    "meaning = \"Share of the window that a loss or mark leaves.\"\n"
    "least = 0.1\n"
    "most = 0.95\n"
    "default = 0.5\n";

#define BETA 0

struct flow {
    uint64_t cwnd, ssthresh;
    uint64_t credit;                     /* bytes that have not earned a segment yet */
    uint64_t saved_cwnd, saved_ssthresh; /* before the last reduction; 0: none */
    uint64_t timeout_at;                 /* path_delivered at the last timeout */
    uint32_t after_timeout, reduced;
};
_Static_assert(sizeof(struct flow) == 56, "state_bytes");

static struct windlass_block block;

int32_t windlass_abi(void) { return WINDLASS_ABI; }
const char *windlass_about(void) { return about; }
struct windlass_block *windlass_block(void) { return &block; }

static struct flow *flow(void) { return (struct flow *)block.state; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void tell(const struct flow *f)
{
    setCwnd((int64_t)f->cwnd);
    setSsthresh(f->ssthresh == UINT64_MAX ? INT64_MAX : (int64_t)f->ssthresh);
    setPhase(f->cwnd < f->ssthresh ? WINDLASS_SLOW_START : WINDLASS_AVOIDANCE);
}

void on_start(void)
{
    struct flow *f = flow();
    f->cwnd = block.cwnd; /* what the path holds, or the initial window */
    f->ssthresh = UINT64_MAX;
    if (block.path_max_bw > 0 && !(block.flags & WINDLASS_STARTING))
        f->ssthresh = f->cwnd;
    if (block.path_max_bw == 0)
        f->cwnd = 10 * block.mss; /* RFC 6928 */
    f->credit = f->saved_cwnd = f->saved_ssthresh = 0;
    f->timeout_at = UINT64_MAX;
    f->after_timeout = f->reduced = 0;
    tell(f);
}

void on_ack(void)
{
    struct flow *f = flow();
    uint64_t left = block.delivered;

    if (!(block.flags & WINDLASS_CWND_LIMITED) ||
        ((block.flags & WINDLASS_IN_RECOVERY) && !f->after_timeout))
        return;
    if (f->cwnd < f->ssthresh) {
        uint64_t taken = least(left, f->ssthresh - f->cwnd);
        f->cwnd += taken;
        left -= taken;
    }
    if (left > 0) { /* a segment for every window that is delivered */
        uint64_t earned = 0;
        if (f->credit >= f->cwnd) {
            f->credit = 0;
            earned = 1;
        }
        f->credit += left;
        earned += f->credit / f->cwnd;
        f->credit %= f->cwnd;
        f->cwnd += earned * block.mss;
    }
    f->cwnd = least(f->cwnd, (uint64_t)1 << 40);
    tell(f);
}

static uint64_t reduced(const struct flow *f)
{
    uint64_t target = (uint64_t)((double)f->cwnd * block.parameters[BETA]);
    return most(target, 2 * block.mss);
}

static void save(struct flow *f)
{
    f->saved_cwnd = f->cwnd;
    f->saved_ssthresh = f->ssthresh;
}

void on_congestion(void)
{
    struct flow *f = flow();
    save(f);
    f->ssthresh = reduced(f);
    f->cwnd = least(f->cwnd, f->ssthresh);
    f->credit = 0;
    f->after_timeout = 0;
    f->reduced = 1;
    tell(f);
}

void on_recovery_exit(void)
{
    flow()->after_timeout = flow()->reduced = 0;
}

void on_rto(void)
{
    struct flow *f = flow();
    if (!f->reduced && f->timeout_at != block.path_delivered) {
        save(f);
        f->ssthresh = reduced(f);
    }
    f->timeout_at = block.path_delivered;
    f->after_timeout = 1;
    f->reduced = 0;
    f->cwnd = block.mss;
    f->credit = 0;
    tell(f);
}

void on_spurious(void)
{
    struct flow *f = flow();
    on_recovery_exit();
    f->timeout_at = UINT64_MAX;
    if (f->saved_cwnd > 0) {
        f->cwnd = most(f->cwnd, f->saved_cwnd);
        f->ssthresh = most(f->ssthresh, f->saved_ssthresh);
        f->saved_cwnd = 0;
    }
    tell(f);
}

/* RFC 2861: the window halves for every timeout of idling, down to the initial one. */
void on_idle_restart(void)
{
    struct flow *f = flow();
    uint64_t rto = 1000000000;
    if (block.srtt > 0)
        rto = block.srtt + most(4 * block.rttvar, 200000000);
    uint64_t periods = least(block.idle / rto, 63);
    if (periods == 0)
        return;
    f->ssthresh = most(f->ssthresh, f->cwnd / 4 * 3);
    f->cwnd = most(f->cwnd >> periods, least(10 * block.mss, f->cwnd));
    f->credit = 0;
    tell(f);
}
