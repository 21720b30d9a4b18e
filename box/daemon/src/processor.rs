//! Which processor a worker's thread runs on, and how soon it runs when others want it too.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use windlass_io::{run_first_in_first_out, run_soon};
use windlass_policy::Priority;

use crate::events::{Severity, log::say};

/// Slack of a worker's sleep, ns. Linux's 50 µs would be five packets at 1 Gbit/s.
const TIMER_SLACK_NS: u64 = 1000;
/// A worker that works half of the time beside four processes that spin on two cores waits 2.6 ms for its turn (median; 15
/// one time in ten) with nice 0, 0.1 ms with this nice value and slice (docs/performance.md, "A busy machine").
const HIGH_NICE: i8 = -10;
const HIGH_SLICE_NS: u64 = 100_000;
/// The lowest priority of those that run before all ordinary ones.
const REALTIME_PRIORITY: u8 = 1;

/// The place of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Processor {
    cpu: Option<CpuSet>,
    priority: Priority,
}

impl Processor {
    /// One for each of `workers`: on the processors named, in turn; else on those that the process may use, if there
    /// are enough for several workers, and on any where there is one worker.
    ///
    /// # Errors
    /// A processor is named that the process may not use.
    pub(crate) fn all(
        workers: usize,
        cpus: &[u32],
        priority: Priority,
    ) -> Result<Vec<Processor>, String> {
        let may_use = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let usable: Vec<usize> = (0..CpuSet::count())
            .filter(|&cpu| may_use.is_set(cpu).unwrap_or(false))
            .collect();
        let wanted: Vec<usize> = cpus.iter().map(|&cpu| cpu as usize).collect();
        if let Some(cpu) = wanted.iter().find(|cpu| !usable.contains(cpu)) {
            return Err(format!(
                "[box] cpus names {cpu}, and this process may use {usable:?}"
            ));
        }
        let pinned = match wanted.is_empty() {
            true if workers > 1 && usable.len() >= workers => usable,
            true => Vec::new(),
            false => wanted,
        };
        let mut turns = pinned.iter().cycle();
        let mut next = || {
            let mut set = CpuSet::new();
            let cpu = *turns.next()?;
            set.set(cpu).ok().map(|()| set)
        };
        Ok((0..workers)
            .map(|_| Processor {
                cpu: next(),
                priority,
            })
            .collect())
    }

    /// The calling thread is waited for by workers that stand still. What the kernel refuses makes it slower, not wrong.
    pub(crate) fn hurry() {
        let _ = run_soon(HIGH_NICE, HIGH_SLICE_NS);
    }

    /// Has the calling thread run there. What the kernel refuses makes it slower, not wrong: it is told once.
    pub(crate) fn take(&self) {
        let _ = set_timerslack(TIMER_SLACK_NS);
        if let Some(cpu) = self.cpu {
            let _ = sched_setaffinity(Pid::from_raw(0), &cpu);
        }
        if let Err(error) = self.ask_for_priority() {
            let text = format!(
                "a worker runs with the priority of any process, and a busy machine delays packets: {error}. Give \
                 Windlass CAP_SYS_NICE, or set priority = \"normal\" in [box]"
            );
            say(Severity::Warning, &text);
        }
    }

    fn ask_for_priority(&self) -> io::Result<()> {
        match self.priority {
            Priority::Normal => Ok(()),
            Priority::High => run_soon(HIGH_NICE, HIGH_SLICE_NS),
            Priority::Realtime => run_first_in_first_out(REALTIME_PRIORITY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_take_the_processors_that_are_named_in_turn() {
        let named = Processor::all(3, &[0], Priority::Normal).expect("there is a first one");
        let on_first = |p: &Processor| p.cpu.is_some_and(|set| set.is_set(0) == Ok(true));
        assert!(named.len() == 3 && named.iter().all(on_first));
        let alone = Processor::all(1, &[], Priority::Normal).expect("any");
        assert!(alone[0].cpu.is_none());
        let error = Processor::all(1, &[1023], Priority::Normal).expect_err("not here");
        assert!(error.contains("cpus names 1023"), "{error}");
    }

    #[test]
    fn a_worker_runs_with_its_priority() {
        if !nix::unistd::geteuid().is_root() {
            return eprintln!("skipped: needs root");
        }
        let nice = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("a thread");
            let after = stat.rsplit_once(')').expect("a name").1;
            let field = after.split_whitespace().nth(16).expect("nice");
            field.parse::<i8>().expect("a number")
        };
        let high = move || {
            Processor::all(1, &[], Priority::High).expect("any")[0].take();
            nice()
        };
        let seen = std::thread::spawn(high).join().expect("no panic");
        assert_eq!(seen, HIGH_NICE);
    }
}
