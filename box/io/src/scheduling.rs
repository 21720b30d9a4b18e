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

/// `struct sched_attr` in its first form (linux/sched/types.h).
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Gives the calling thread a nice value, -20 to 19, and has it wait less for its turn than others: it asks for
/// turns of `slice_ns`, 100,000 to 100,000,000, at a time. Linux before 6.12 does not look at the slice.
///
/// # Errors
/// `EACCES` or `EPERM` for a nice value below that of now without `CAP_SYS_NICE`.
pub fn run_soon(nice: i8, slice_ns: u64) -> io::Result<()> {
    let attributes = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: i32::from(nice),
        priority: 0,
        runtime: slice_ns,
        deadline: 0,
        period: 0,
    };
    // SAFETY: 0 is the calling thread; the attributes have the size that they name and are only read.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    sys::check(done as libc::c_int).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_ask_for_short_turns() {
        // A nice value above that of now needs no privilege.
        std::thread::spawn(|| run_soon(5, 100_000).expect("allowed"))
            .join()
            .expect("no panic");
    }
}
