//! A process that is kept off its processors now and then.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windlass_io::monotonic_ns;
use windlass_sim::stalls::Stalls;

/// Stops a process and lets it go on. Dropping it lets the process run.
#[derive(Debug)]
pub(super) struct Staller {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Staller {
    /// Stops the process `pid` at these times, by `CLOCK_MONOTONIC`.
    pub(super) fn start(pid: u32, mut stalls: Stalls) -> Result<Staller> {
        let pid = Pid::from_raw(pid as i32);
        let (end, ended) = channel::<()>();
        let wait_until = move |at: u64| {
            let left = Duration::from_nanos(at.saturating_sub(monotonic_ns()));
            ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout)
        };
        let work = move || {
            loop {
                let (begin, end) = stalls.current();
                if !wait_until(begin) || kill(pid, Signal::SIGSTOP).is_err() {
                    return;
                }
                let goes_on = wait_until(end);
                let _ = kill(pid, Signal::SIGCONT);
                if !goes_on {
                    return;
                }
                stalls.advance();
            }
        };
        let named = std::thread::Builder::new().name("staller".to_owned());
        Ok(Staller {
            end: Some(end),
            thread: Some(named.spawn(work)?),
        })
    }
}

impl Drop for Staller {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
