//! Many sockets and one clock, waited for together.

use std::os::fd::AsFd;

use anyhow::Result;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timer::TimerSetTimeFlags;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags};
use windlass_io::monotonic_ns;

/// Longest sleep: so often it is seen whether a signal came.
const SLEEP_MAX_MS: u16 = 100;
const EVENTS: usize = 256;
const TIMER: u64 = u64::MAX;

/// What has happened to a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// The number it was added with.
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
    /// The other end has finished or it is broken: reading on will tell.
    pub ended: bool,
}

/// Tells of each change once: read or write until it would block.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: Epoll,
    timer: TimerFd,
    /// `CLOCK_MONOTONIC` for which the timer is set, ns.
    armed: Option<u64>,
    buffer: Vec<EpollEvent>,
}

impl Poller {
    pub(super) fn new() -> Result<Poller> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let poller = Poller {
            epoll,
            timer,
            armed: None,
            buffer: vec![EpollEvent::empty(); EVENTS],
        };
        poller.add(&poller.timer, TIMER)?;
        Ok(poller)
    }

    pub(super) fn add(&self, fd: impl AsFd, token: u64) -> Result<()> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        Ok(self.epoll.add(fd, EpollEvent::new(flags, token))?)
    }

    /// Waits for an event, until this time of `CLOCK_MONOTONIC`, or for a tenth of a second.
    pub(super) fn wait(&mut self, until: Option<u64>) -> Result<Vec<Event>> {
        let mut sleep = EpollTimeout::from(SLEEP_MAX_MS);
        if let Some(at) = until {
            if at <= monotonic_ns() {
                sleep = EpollTimeout::ZERO;
            } else if self.armed != Some(at) {
                let time = TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
                let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
                self.timer.set(Expiration::OneShot(time), flags)?;
                self.armed = Some(at);
            }
        }
        let count = match self.epoll.wait(&mut self.buffer, sleep) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(e) => return Err(e.into()),
        };
        let own = self.buffer[..count].iter().filter(|e| e.data() != TIMER);
        Ok(own.map(event).collect())
    }
}

fn event(event: &EpollEvent) -> Event {
    let has = |flag| event.events().contains(flag);
    let ended = [
        EpollFlags::EPOLLRDHUP,
        EpollFlags::EPOLLHUP,
        EpollFlags::EPOLLERR,
    ];
    Event {
        token: event.data(),
        readable: has(EpollFlags::EPOLLIN),
        writable: has(EpollFlags::EPOLLOUT),
        ended: ended.into_iter().any(has),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wakes_at_its_time_and_for_an_event() {
        let mut poller = Poller::new().expect("a poller");
        let (near, far) = std::io::pipe().expect("a pipe");
        poller.add(&near, 7).expect("added");
        let at = monotonic_ns() + 3_000_000;
        while monotonic_ns() < at {
            assert!(poller.wait(Some(at)).expect("a wait").is_empty());
        }
        // Twenty times as long as it takes, far less than the longest sleep.
        assert!(monotonic_ns() < at + 60_000_000);
        drop(far);
        let events = poller.wait(None).expect("a wait");
        assert_eq!(events.len(), 1);
        assert!(events[0].token == 7 && events[0].ended, "{events:?}");
    }
}
