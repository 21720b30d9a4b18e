//! A Linux guest in which time is the number of instructions executed: QEMU without KVM, one
//! instruction a nanosecond, and idle time skipped. What is measured in it does not depend on how
//! busy the machine is.
//!
//! An [`Image`] is Debian's cloud kernel and an initramfs of this host's own programs; a
//! [`Guest`] boots it, runs one shell command in it and hands out the lines that the command
//! prints.
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
