//! `[box]`: what the box is made of.

use crate::config::DEFAULT_CONTROL_SOCKET;
use crate::error::Wrong;
use crate::read::{Section, Value};

/// Frames per worker: 128 MB of them hold 300 ms at 3 Gbit/s.
const DEFAULT_FRAMES: u32 = 1 << 16;
const FRAMES_MIN: u64 = 8192;
const FRAMES_MAX: u64 = 1 << 24;
/// Longest `bypass_after_ms`, ms: beyond a minute no connection is left to be saved.
const BYPASS_AFTER_MAX_MS: u64 = 60_000;
const IO_MODES: [(&str, IoMode); 4] = [
    ("auto", IoMode::Auto),
    ("native", IoMode::Native),
    ("generic", IoMode::Generic),
    ("packet", IoMode::Packet),
];

const PRIORITIES: [(&str, Priority); 3] = [
    ("normal", Priority::Normal),
    ("high", Priority::High),
    ("realtime", Priority::Realtime),
];
const CPU_MAX: u64 = 8191;

/// How soon a worker runs when other processes want its processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Priority {
    /// As any process.
    Normal,
    /// Before most others, in short turns.
    #[default]
    High,
    /// Before all that is not realtime as well.
    Realtime,
}

/// How packets are to be obtained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IoMode {
    /// AF_XDP in native mode, else in generic mode.
    #[default]
    Auto,
    /// AF_XDP in native mode or not at all.
    Native,
    /// AF_XDP in generic mode or not at all.
    Generic,
    /// AF_PACKET, in place of a bridge.
    Packet,
}

/// The `[box]` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxConfig {
    /// Interface towards the governed senders.
    pub inside: Option<String>,
    /// Interface towards the network.
    pub outside: Option<String>,
    /// Packet frames per worker.
    pub frames: u32,
    /// Bytes per frame, 2048 or 4096.
    pub frame_size: u32,
    /// The kernel forwards packets itself once a worker has not taken any for so long, ms; 0: never.
    pub bypass_after_ms: u32,
    /// How soon workers run.
    pub priority: Priority,
    /// The processors that workers run on, one each in turn. Empty: those that the process may use.
    pub cpus: Vec<u32>,
    /// How packets are obtained.
    pub mode: IoMode,
    /// Path of the control socket.
    pub control_socket: String,
}

impl Default for BoxConfig {
    fn default() -> Self {
        BoxConfig {
            inside: None,
            outside: None,
            frames: DEFAULT_FRAMES,
            frame_size: 2048,
            bypass_after_ms: 50,
            priority: Priority::default(),
            cpus: Vec::new(),
            mode: IoMode::Auto,
            control_socket: DEFAULT_CONTROL_SOCKET.to_owned(),
        }
    }
}

/// Reads `[box]`.
pub(crate) fn read(mut section: Section<'_>) -> Result<BoxConfig, Wrong> {
    let mut device = BoxConfig::default();
    if let Some(value) = section.take("inside") {
        device.inside = Some(interface(value.text("eth0")?, &value)?);
    }
    if let Some(value) = section.take("outside") {
        device.outside = Some(interface(value.text("eth1")?, &value)?);
        if device.outside == device.inside {
            let what = "inside and outside are the same interface";
            return Err(Wrong::new(
                value.span(),
                what,
                "name the interface on the other side",
            ));
        }
    }
    if let Some(value) = section.take("frames") {
        device.frames = value.integer(FRAMES_MIN..=FRAMES_MAX, "frames")? as u32;
    }
    if let Some(value) = section.take("bypass_after_ms") {
        device.bypass_after_ms = value.integer(0..=BYPASS_AFTER_MAX_MS, "ms")? as u32;
    }
    if let Some(value) = section.take("priority") {
        device.priority = value.word(&PRIORITIES)?;
    }
    if let Some(value) = section.take("cpus") {
        for cpu in value.list("[2, 3]")? {
            let number = cpu.integer(0..=CPU_MAX, "as /proc/cpuinfo counts them")?;
            device.cpus.push(number as u32);
        }
    }
    if let Some(value) = section.take("frame_size") {
        device.frame_size = value.integer(2048..=4096, "bytes")? as u32;
        if !device.frame_size.is_power_of_two() {
            let what = format!("frame_size is out of range: {}", device.frame_size);
            return Err(Wrong::new(value.span(), what, "use 2048 or 4096 bytes"));
        }
    }
    if let Some(value) = section.take("mode") {
        device.mode = value.word(&IO_MODES)?;
    }
    if let Some(value) = section.take("control_socket") {
        let path = value.text(DEFAULT_CONTROL_SOCKET)?;
        if !path.starts_with('/') {
            let what = format!("\"{path}\" is not an absolute path");
            let help = format!("write for example \"{DEFAULT_CONTROL_SOCKET}\"");
            return Err(Wrong::new(value.span(), what, help));
        }
        device.control_socket = path.to_owned();
    }
    section.finish()?;
    Ok(device)
}

/// Linux: 1 to 15 bytes (IFNAMSIZ − 1), no slash, no space, not "." or "..".
fn interface(name: &str, value: &Value<'_>) -> Result<String, Wrong> {
    let bad = |c: char| c == '/' || c == ':' || c.is_whitespace();
    if name.is_empty() || name.len() > 15 || name.contains(bad) || name == "." || name == ".." {
        let what = format!("\"{name}\" cannot be the name of an interface");
        let help = "use a name that `ip link show` lists, 1 to 15 characters";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(name.to_owned())
}
