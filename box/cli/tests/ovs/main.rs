//! The box in a bridge of a real Open vSwitch: its daemons run in a private folder, with the
//! datapath in userspace. Then all of that again in a guest, with the kernel's datapath.

mod attaching;
mod guest;
#[allow(dead_code)]
#[path = "../netns/mod.rs"]
mod netns;
mod repair;
mod switch;
mod through;

use netns::Daemon;
use serde_json::Value;

const ATTACH: &str = "attach --ovs br0 --match tcp,tp_dst=8001/0xfff0";
const DETACH: &str = "detach --ovs br0";
const RUN: [&str; 2] = ["--ovs", "br0"];

/// The flow from this server's port has come to Windlass, which governs it. The datapath takes a core of its own here. So a busy machine may
/// make Windlass late so often that it gives the flow back, and that is right as well.
fn assert_governed(daemon: &Daemon, port: u16) -> Value {
    let flow = daemon.flow(port);
    let passed = &flow["passed"];
    assert!(passed.is_null() || passed == "late_worker", "{flow}");
    flow
}
