//! BBR v1 and v3 on a simulated bottleneck: the scenarios of draft-ietf-ccwg-bbr's appendix "BBR Example
//! Test Cases" (editor's copy of 2026-08-03), and what google/quiche asserts of its v1.

mod bbr;
mod bbr3;
#[path = "../link/mod.rs"]
mod link;
mod scenarios;

use link::Link;
use windlass_cc::MILLISECOND;

const LINK: Link = Link {
    // 50 Mbit/s, 40 ms: a BDP of 250 kB.
    rate: 6_250_000,
    rtt: 40 * MILLISECOND,
    queue: 1_000_000,
    loss_per_million: 0,
    supply: 0,
};
