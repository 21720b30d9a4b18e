//! What the two ends say to each other until a connection is in the state that is looked at.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};
use windlass_wire::Flags;

use super::bench::Bench;
use super::conn::Conn;

const PATIENCE: Duration = Duration::from_secs(2);

impl Conn {
    pub fn stream(&self) -> &TcpStream {
        self.stream.as_ref().expect("a socket")
    }

    /// It ends with a reset, so that nothing is left of it.
    pub fn take(&mut self, stream: TcpStream) {
        stream.set_nonblocking(true).expect("a socket");
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&stream, sockopt::Linger, &linger).expect("SO_LINGER");
        self.stream = Some(stream);
    }

    /// The next segment of ours, as it should be. The kernel acknowledges what it brings.
    pub fn say(&mut self, bench: &mut Bench, flags: Flags, len: usize) {
        self.ts_recent = self.ts_recent.wrapping_add(1);
        let (seq, ack) = (self.seq, self.kernel.nxt);
        let mut segment = self.segment(seq, ack, flags, len);
        segment.options = self.stamp(self.ts_recent).into();
        let outcome = self.send(bench, &segment.build());
        assert!(outcome.believed, "{segment:?}");
        self.una = ack;
        self.seq = seq.wrapping_add(len as u32 + u32::from(flags.has(Flags::FIN)));
        let deadline = Instant::now() + PATIENCE;
        while self.kernel.ack != self.seq && seq != self.seq {
            assert!(Instant::now() < deadline, "no ACK of {segment:?}");
            self.drain(bench);
        }
    }

    /// The kernel sends something.
    pub fn write(&mut self, bench: &mut Bench, len: usize) {
        let sent = self.stream().write(&vec![7; len]).expect("room");
        assert_eq!(sent, len);
        self.drain(bench);
    }

    /// The kernel has sent something, and we have acknowledged it.
    pub fn history(&mut self, bench: &mut Bench) {
        let all = self.kernel.nxt.wrapping_add(self.profile.history as u32);
        if self.profile.history > 0 {
            self.write(bench, self.profile.history);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.drain(bench);
            if self.una != self.kernel.nxt {
                self.say(bench, Flags::ACK, 0);
            } else if self.kernel.nxt == all {
                return;
            }
            assert!(Instant::now() < deadline, "the kernel does not send");
        }
    }

    /// We fill the kernel's window.
    pub fn fill(&mut self, bench: &mut Bench) {
        let deadline = Instant::now() + PATIENCE;
        while self.kernel.edge != self.seq {
            assert!(Instant::now() < deadline, "the window stays open");
            let room = self.kernel.edge.wrapping_sub(self.seq);
            self.say(bench, Flags::ACK, room.min(1400) as usize);
        }
    }

    /// True while the kernel's socket is connected, or connecting.
    pub fn alive(&self) -> bool {
        let error = self.stream.as_ref().map(TcpStream::take_error);
        !matches!(error, Some(Ok(Some(_))))
    }

    /// Leaves nothing of it behind at the kernel.
    pub fn close(mut self, bench: &mut Bench) {
        if self.stream.take().is_some() {
            return;
        }
        while bench
            .listener
            .accept()
            .map(|(stream, _)| self.take(stream))
            .is_ok()
        {}
        let mut reset = self.segment(self.seq, 0, Flags::RST, 0);
        reset.options = self.stamp(self.ts_recent).into();
        bench.give(&reset.build());
    }
}
