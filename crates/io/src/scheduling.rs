//! The scheduling class of a thread (sched(7)).
#![allow(unsafe_code)]

use std::io;

use crate::sys;

/// Puts the calling thread above all ordinary ones (`SCHED_FIFO`), from 1 to 99. It must sleep, or
/// nothing else runs on its processor.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, `EINVAL` for another priority.
pub fn run_first_in_first_out(priority: u8) -> io::Result<()> {
    // SAFETY: a structure of plain integers, for which zeros are valid.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = i32::from(priority);
    // SAFETY: 0 is the calling thread; the parameters are only read.
    sys::check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
        .map(drop)
}
