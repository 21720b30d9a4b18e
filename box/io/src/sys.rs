//! The few system calls that the standard library lacks.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// `CLOCK_MONOTONIC`, nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Processor time of the calling thread, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// A clock that every Linux has, nanoseconds.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid for writing; the clock exists, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How far `CLOCK_MONOTONIC` of this process is ahead of the kernel's own, which BPF programs read, ns: by its time namespace
/// (time_namespaces(7)).
pub(crate) fn monotonic_ahead_ns() -> i64 {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
    offsets.map_or(0, |offsets| monotonic_offset_ns(&offsets))
}

/// A clock's name, whole seconds and nanoseconds to a line. A clock that is not named is the kernel's.
fn monotonic_offset_ns(offsets: &str) -> i64 {
    let words = offsets.lines().map(|line| line.split_whitespace());
    let mut offsets = words.filter_map(|mut words| {
        let name = words.next()?;
        let seconds: i64 = words.next()?.parse().ok()?;
        let nanos: i64 = words.next()?.parse().ok()?;
        let whole = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        (name == "monotonic").then_some(whole)
    });
    offsets.next().unwrap_or(0)
}

/// Gives the calling thread open files of its own, of which it has the standard three at first: it may open as many as
/// the process may have (`RLIMIT_NOFILE`). Descriptors must neither be brought along nor be handed to other threads: a
/// number means something else here and there.
///
/// # Errors
/// `ENOSYS` from kernels before 5.9, `ENOMEM`.
pub fn separate_open_files() -> io::Result<()> {
    let others = libc::STDERR_FILENO as libc::c_uint + 1;
    let flags = libc::CLOSE_RANGE_UNSHARE as libc::c_int;
    // SAFETY: no pointers are passed, and what is closed is the thread's own copy, not the descriptors of others.
    check(unsafe { libc::close_range(others, libc::c_uint::MAX, flags) }).map(drop)
}

/// The error of the last call if it returned a negative value.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the descriptor was just made and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `setsockopt` with a plain value of a type the kernel knows by its size.
pub(crate) fn set_option<T: Copy>(
    fd: &impl AsRawFd,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    // SAFETY: pointer and length describe `value`, which is only read.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// `getsockopt` into a plain value; a kernel that knows less of it leaves the rest as it was.
pub(crate) fn get_option<T: Copy>(
    fd: &impl AsRawFd,
    level: i32,
    name: i32,
    value: T,
) -> io::Result<T> {
    get_option_len(fd, level, name, value).map(|(value, _)| value)
}

/// [`get_option`], and how many bytes the kernel has written.
pub(crate) fn get_option_len<T: Copy>(
    fd: &impl AsRawFd,
    level: i32,
    name: i32,
    mut value: T,
) -> io::Result<(T, usize)> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointer and length describe `value`; callers pass types that are valid for any bits.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok((value, length as usize))
}

/// The index of an interface of this network namespace.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: a valid C string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Sleeps until one of two descriptors is readable. Interruption by a signal is no error.
pub(crate) fn wait_readable(fds: [RawFd; 2], timeout_ns: Option<u64>) -> io::Result<()> {
    let mut polled = fds.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `polled` has two entries, `timeout` is null or valid, no signal mask is given.
    let result = unsafe { libc::ppoll(polled.as_mut_ptr(), 2, timeout, std::ptr::null()) };
    match check(result) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other.map(drop),
    }
}

/// An interface request for `ioctl` on any socket. `data` is the union's first pointer or integer.
#[repr(C)]
pub(crate) struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    pub data: usize,
    padding: [u8; 16],
}

impl InterfaceRequest {
    pub(crate) fn new(name: &str, data: usize) -> io::Result<Self> {
        if name.is_empty() || name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let mut request = InterfaceRequest {
            name: [0; libc::IFNAMSIZ],
            data,
            padding: [0; 16],
        };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        Ok(request)
    }
}

/// `ioctl` with a pointer to a C structure.
///
/// # Safety
/// `argument` must be what `command` expects, and pointers inside it valid for what it does.
pub(crate) unsafe fn ioctl<T>(
    fd: &OwnedFd,
    command: libc::c_ulong,
    argument: *mut T,
) -> io::Result<()> {
    // SAFETY: the caller vouches for command and argument.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), command as _, argument) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_thread_with_files_of_its_own_holds_nobody_elses() {
        let (mut near, far) = io::pipe().expect("a pipe");
        let (separate, done) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                separate_open_files().expect("a table");
                separate.wait();
                done.wait();
            });
            separate.wait();
            // The thread would hold the other end, were it a copy of all there was.
            drop(far);
            assert_eq!(near.read(&mut [0]).expect("the end"), 0);
            done.wait();
        });
    }

    #[test]
    fn offsets_of_a_time_namespace_are_read() {
        let told = "monotonic           3         5\nboottime          100         0\n";
        assert_eq!(monotonic_offset_ns(told), 3_000_000_005);
        // The kernel keeps nanoseconds from 0 to 999,999,999.
        assert_eq!(
            monotonic_offset_ns("monotonic -3 999999999"),
            -2_000_000_001
        );
        for none in ["", "boottime 100 0", "monotonic x 0", "monotonic 3"] {
            assert_eq!(monotonic_offset_ns(none), 0, "{none}");
        }
    }
}
