//! What keeps the wire from losing packets while a killed process is taken down.
//!
//! The kernel unmaps the memory of a dying process before it closes its files. For 128 MB of frames in pages of 4 KiB this
//! takes 5 to 30 ms. Until then the sockets are open, and the XDP program gives them packets that nobody will read.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sys;

const STACK_BYTES: usize = 16 * 1024;
/// For the other process to begin.
const BEGIN_LIMIT: Duration = Duration::from_secs(1);
const LOOK_INTERVAL: Duration = Duration::from_micros(50);

/// What the two tell each other.
#[derive(Debug)]
struct Beginning {
    parent: libc::pid_t,
    /// The other process has begun.
    has_begun: AtomicBool,
}

/// A process that shares the memory of this one, and nothing else. While it lives, the death of this process leaves the
/// memory as it is. So the kernel closes the files at once, and the bridge has the packets. It ends with the thread that
/// has made it.
#[derive(Debug)]
pub struct MemoryHolder {
    pid: libc::pid_t,
    /// It runs on this, and reads that.
    _stack: Vec<u128>,
    beginning: Arc<Beginning>,
}

impl MemoryHolder {
    /// Starts it. One in a process is enough.
    ///
    /// # Errors
    /// `EPERM` where a filter of system calls forbids it, `EAGAIN` where no process may be added, `ETIMEDOUT`.
    pub fn start() -> io::Result<MemoryHolder> {
        let mut stack = vec![0u128; STACK_BYTES / size_of::<u128>()];
        let beginning = Arc::new(Beginning {
            // SAFETY: it cannot fail.
            parent: unsafe { libc::getpid() },
            has_begun: AtomicBool::new(false),
        });
        let told = Arc::as_ptr(&beginning).cast_mut().cast::<c_void>();
        let pid = with_signals_blocked(|| {
            // SAFETY: one past the end of the stack, which grows down.
            let top = unsafe { stack.as_mut_ptr().add(stack.len()) };
            // SAFETY: `hold` calls nothing but the kernel. It shares the memory of this process (CLONE_VM), and gets copies of
            // all else. Its stack and what it is told stay where they are until it has ended (`drop`).
            sys::check(unsafe { libc::clone(hold, top.cast(), libc::CLONE_VM, told) })
        })?;
        let holder = MemoryHolder {
            pid,
            _stack: stack,
            beginning,
        };
        // Until then it may set `errno`, which it shares with this thread.
        let limit = Instant::now() + BEGIN_LIMIT;
        while !holder.beginning.has_begun.load(Ordering::Acquire) {
            if Instant::now() > limit {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        Ok(holder)
    }
}

impl Drop for MemoryHolder {
    fn drop(&mut self) {
        // SAFETY: a child of this process that nobody else waits for, so that the number is still its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

/// The other process begins with no signal that could end it: SIGTERM to a group or a service ends this one in order, and the
/// other one with it.
fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals are plain integers. Both are valid for the calls, which fill them and only change the mask of
    // this thread.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let done = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        done
    }
}

extern "C" fn hold(told: *mut c_void) -> c_int {
    let none: c_long = 0;
    // SAFETY: `start` keeps it until this process has ended.
    let beginning = unsafe { &*told.cast::<Beginning>() };
    // SAFETY: the kernel is called with numbers and with a valid string. What is closed are copies.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may have died before it could be said.
        if libc::getppid() != beginning.parent {
            return 0;
        }
        libc::prctl(libc::PR_SET_NAME, c"windlass-memory".as_ptr());
        libc::syscall(libc::SYS_close_range, none, c_long::from(u32::MAX), none);
    }
    beginning.has_begun.store(true, Ordering::Release);
    loop {
        // SAFETY: no descriptors, no time and no signals: it sleeps for ever.
        unsafe { libc::syscall(libc::SYS_ppoll, none, none, none, none, none) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::memory::Mapping;

    #[test]
    fn it_has_the_memory_and_no_files_and_goes() {
        let holder = MemoryHolder::start().expect("a process");
        let of = format!("/proc/{}", holder.pid);
        let name = fs::read_to_string(format!("{of}/comm")).expect("it runs");
        assert_eq!(name.trim(), "windlass-memory");
        let files = fs::read_dir(format!("{of}/fd")).expect("its files");
        assert_eq!(files.count(), 0);
        let memory = |of: &str| {
            let maps = fs::read_to_string(format!("{of}/maps")).expect("its memory");
            maps.lines().next().map(str::to_owned)
        };
        assert_eq!(memory(&of), memory("/proc/self"));
        drop(holder);
        assert!(!fs::exists(&of).expect("a folder"));
    }

    #[test]
    fn it_does_not_outlive_the_thread_that_made_it() {
        let pid = std::thread::spawn(|| {
            let holder = MemoryHolder::start().expect("a process");
            let pid = holder.pid;
            std::mem::forget(holder);
            pid
        });
        let pid = pid.join().expect("no panic");
        let limit = Instant::now() + BEGIN_LIMIT;
        let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        while !state().contains(") Z ") {
            assert!(Instant::now() < limit, "{}", state());
            std::thread::sleep(LOOK_INTERVAL);
        }
        // SAFETY: a child of this process that nobody else waits for.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
    }

    const VICTIM: &str = "memory_holder::tests::victim";
    const HELD: &str = "WINDLASS_TEST_HELD";
    const FRAMES_BYTES: usize = 128 << 20;
    const KILLS: usize = 7;

    /// A process with as many frames as a worker has by default, to be killed.
    #[test]
    #[ignore = "another test starts it in a process of its own"]
    fn victim() {
        let holder = std::env::var_os(HELD).map(|_| MemoryHolder::start().expect("a process"));
        let (mut frames, _file) = Mapping::file(FRAMES_BYTES).expect("memory");
        frames.bytes_mut(0, FRAMES_BYTES).fill(1);
        println!("READY");
        std::thread::sleep(Duration::from_secs(60));
        drop(holder);
    }

    /// How long the files of a killed process stay open, as the other end of one of them sees it.
    fn open_after_kill(held: bool) -> Duration {
        let mut command = Command::new(std::env::current_exe().expect("a path"));
        command.args(["--ignored", "--exact", VICTIM, "--nocapture"]);
        if held {
            command.env(HELD, "1");
        }
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child = child.expect("a process");
        let mut said = child.stdout.take().expect("a pipe");
        let mut text = Vec::new();
        while !text.ends_with(b"READY\n") {
            let mut byte = [0];
            said.read_exact(&mut byte).expect("it says so");
            text.push(byte[0]);
        }
        let killed = Instant::now();
        child.kill().expect("it runs");
        said.read_to_end(&mut text).expect("its end");
        let open = killed.elapsed();
        child.wait().expect("a child");
        open
    }

    #[test]
    fn the_files_of_a_killed_process_are_closed_at_once() {
        let median = |held| {
            let mut open: Vec<_> = (0..KILLS).map(|_| open_after_kill(held)).collect();
            open.sort();
            open[KILLS / 2]
        };
        let [held, bare] = [median(true), median(false)];
        println!("closed after {held:.1?} with a holder, {bare:.1?} without");
        assert!(held < bare / 2, "{held:?} {bare:?}");
    }
}
