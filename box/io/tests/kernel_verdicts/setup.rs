//! How a connection gets into the state that is looked at.

use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, TcpStream};

use nix::sys::socket::{setsockopt, sockopt};
use windlass_wire::{Flags, FlowKey, OptionWriter, Timestamps};

use super::bench::{Bench, PORT};
use super::conn::{Conn, Profile};
use super::lab::{A, B};

/// What we have sent out of order, and how far behind what the kernel expects.
pub const ISLAND: (u32, usize) = (500, 200);
/// What the kernel has in flight, bytes.
const FLIGHT: usize = 1500;
/// Soon full, bytes.
const SMALL_BUFFER: usize = 8192;

/// The kernel's state when the segment arrives (RFC 9293 §3.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    SynSent,
    SynReceived,
    Idle,
    InFlight,
    Hole,
    ZeroWindow,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
}

impl State {
    /// We have said our last.
    pub fn has_our_fin(self) -> bool {
        matches!(self, State::CloseWait | State::Closing | State::LastAck)
    }

    pub fn synchronized(self) -> bool {
        !matches!(self, State::SynSent | State::SynReceived)
    }
}

/// A profile by chance; numbers are near the wrap in a part.
pub fn profile(bench: &mut Bench, state: State, timestamps: bool) -> Profile {
    let random = &mut bench.random;
    let near_wrap = |random: &mut super::random::Random| {
        let share = random.below(3);
        match share {
            0 => random.number(),
            1 => 0u32.wrapping_sub(random.below(3000)),
            _ => 0u32.wrapping_sub(random.below(100_000)),
        }
    };
    let numbers = (
        near_wrap(random),
        random.percent(70).then(|| near_wrap(random)),
    );
    let scale = random.one_of(&[None, Some(0), Some(2), Some(7)]);
    Profile {
        timestamps,
        scale,
        sack: random.percent(70),
        active: match state {
            State::SynSent => true,
            // The listener's receive buffer is the small one.
            State::SynReceived | State::ZeroWindow => false,
            _ => random.percent(50),
        },
        numbers,
        window: random.one_of(&[1600, 2000, 60_000]),
        history: random.one_of(&[0, 1, 3000, 9000]),
        unread: random.percent(50),
        both: random.percent(50),
    }
}

/// A new connection in this state.
pub fn open(bench: &mut Bench, state: State, profile: Profile) -> Conn {
    if state == State::ZeroWindow {
        setsockopt(&bench.listener, sockopt::RcvBuf, &SMALL_BUFFER).expect("SO_RCVBUF");
    }
    let mut conn = match (profile.active, state) {
        (true, _) => connected(bench, profile, state == State::SynSent),
        (false, _) => accepted(bench, profile, state == State::SynReceived),
    };
    if !state.synchronized() {
        return conn;
    }
    conn.history(bench);
    conn.say(bench, Flags::ACK, 100);
    if !profile.unread {
        let mut sink = [0; 200];
        let _ = conn.stream().read(&mut sink);
    }
    match state {
        State::InFlight => conn.write(bench, FLIGHT),
        State::Hole => {
            let val = conn.ts_recent.wrapping_add(bench.random.one_of(&[0, 5]));
            let mut island = conn.segment(
                conn.seq.wrapping_add(ISLAND.0),
                conn.una,
                Flags::ACK,
                ISLAND.1,
            );
            island.options = conn.stamp(val).into();
            assert!(conn.send(bench, &island.build()).believed, "the island");
        }
        State::ZeroWindow => conn.fill(bench),
        State::FinWait1 => close(bench, &mut conn),
        State::FinWait2 => {
            close(bench, &mut conn);
            conn.say(bench, Flags::ACK, 0);
        }
        State::Closing => {
            close(bench, &mut conn);
            // Both have said FIN, and neither has acknowledged the other's.
            let flags = Flags::ACK.with(Flags::FIN);
            let mut fin = conn.segment(conn.seq, conn.una, flags, 0);
            fin.options = conn.stamp(conn.ts_recent).into();
            assert!(conn.send(bench, &fin.build()).believed, "our FIN");
            conn.seq = conn.seq.wrapping_add(1);
        }
        State::CloseWait => conn.say(bench, Flags::ACK.with(Flags::FIN), 0),
        State::LastAck => {
            conn.say(bench, Flags::ACK.with(Flags::FIN), 0);
            close(bench, &mut conn);
        }
        State::SynSent | State::SynReceived | State::Idle => {}
    }
    conn
}

/// The kernel says FIN.
fn close(bench: &mut Bench, conn: &mut Conn) {
    conn.stream().shutdown(Shutdown::Write).expect("shutdown");
    conn.drain(bench);
}

/// What our SYN or SYN-ACK offers.
pub fn offer(profile: &Profile, stamps: Timestamps) -> OptionWriter {
    let mut options = OptionWriter::new().mss(1460);
    if profile.sack {
        options = options.sack_permitted();
    }
    if profile.timestamps {
        options = options.timestamps(stamps);
    }
    if let Some(shift) = profile.scale {
        options = options.window_scale(shift);
    }
    options
}

/// The kernel has got our SYN.
fn accepted(bench: &mut Bench, profile: Profile, half: bool) -> Conn {
    let key = key(bench.port(), PORT);
    let mut conn = Conn::new(bench, profile, key);
    let mut syn = conn.segment(conn.iss, 0, Flags::SYN, 0);
    let val = conn.ts_recent;
    syn.options = offer(&conn.profile, Timestamps { val, ecr: 0 }).into();
    let outcome = conn.send(bench, &syn.build());
    assert_eq!(outcome.replies.len(), 1, "a SYN-ACK");
    conn.seq = conn.iss.wrapping_add(1);
    if !half {
        conn.say(bench, Flags::ACK, 0);
        let accepted = bench.listener.accept().expect("accepted");
        conn.take(accepted.0);
    }
    conn
}

/// The kernel has sent its SYN.
fn connected(bench: &mut Bench, profile: Profile, half: bool) -> Conn {
    let port = bench.port();
    let socket = bench.connect(port, profile.numbers.1);
    let stream = TcpStream::from(socket);
    let own = stream.local_addr().expect("bound").port();
    let mut conn = Conn::new(bench, profile, key(port, own));
    conn.take(stream);
    let syn = conn.drain(bench);
    assert_eq!(syn.len(), 1, "a SYN");
    if !half {
        let flags = Flags::SYN.with(Flags::ACK);
        let mut syn_ack = conn.segment(conn.iss, conn.kernel.nxt, flags, 0);
        let (val, ecr) = (conn.ts_recent, conn.kernel.tsval);
        syn_ack.options = offer(&conn.profile, Timestamps { val, ecr }).into();
        let outcome = conn.send(bench, &syn_ack.build());
        assert_eq!(outcome.replies.len(), 1, "its ACK");
        conn.seq = conn.iss.wrapping_add(1);
        conn.una = conn.kernel.nxt;
    }
    conn
}

fn key(peer: u16, kernel: u16) -> FlowKey {
    let address = |a: Ipv4Addr| a.into();
    FlowKey {
        src: address(B),
        dst: address(A),
        src_port: peer,
        dst_port: kernel,
        ..FlowKey::default()
    }
}
