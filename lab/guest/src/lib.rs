//! A Linux guest in virtual time. It is QEMU without KVM: one instruction takes one nanosecond, and idle time is skipped.
//! So results do not depend on how busy the machine is.
//!
//! An [`Image`] is Debian's cloud kernel and an initramfs with this host's own programs. A [`Guest`] boots it, runs one
//! shell command in it, and returns the lines that the command prints.
#![forbid(unsafe_code)]

mod archive;
mod guest;
mod image;
mod kernel;
mod module;
mod processor_time;
mod program;

pub use guest::{Event, Guest};
pub use image::{Contents, Image, check_host};
pub use processor_time::processor_time_s;
