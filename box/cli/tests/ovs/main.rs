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

const ATTACH: &str = "attach --ovs br0 --match tcp,tp_dst=8001/0xfff0";
const DETACH: &str = "detach --ovs br0";
const RUN: [&str; 2] = ["--ovs", "br0"];
