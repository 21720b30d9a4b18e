//! To write a congestion control algorithm for Windlass as a WebAssembly module, in Rust.
//!
//! A type of at most 256 bytes is the state of a flow; [`Algorithm`] says what it does;
//! [`plugin!`] makes a module of it. `sdk/examples/mystique` is one in sixty lines. The interface
//! itself, and what every number means, is `sdk/c/windlass.h`.
//!
//! ```text
//! cargo build --release --target wasm32-unknown-unknown
//! windlass algorithm add target/wasm32-unknown-unknown/release/mine.wasm
//! ```
#![no_std]

/// Bytes of state that a flow has.
pub const STATE_BYTES: usize = 256;
/// Parameters that a plugin can have.
pub const PARAMETERS: usize = 8;

/// [`Event::flags`]: the window was the limit during the last round trip.
pub const CWND_LIMITED: u64 = 1;
/// [`Event::flags`]: a recovery episode is open.
pub const IN_RECOVERY: u64 = 2;
/// [`Event::flags`]: the sender, not the network, was the limit.
pub const APP_LIMITED: u64 = 4;
/// [`Event::flags`]: what was sent had been sent before.
pub const RETRANSMISSION: u64 = 8;
/// [`Event::flags`]: a mark, not a loss.
pub const ECN: u64 = 16;
/// [`Event::flags`]: the flow moves here from a start-up that had not ended.
pub const STARTING: u64 = 32;
/// [`Event::flags`]: it moves here from an algorithm that loss has kept from the rest of the path.
pub const ROOMY: u64 = 64;

/// What has happened: `struct windlass_block` of `windlass.h`, where each field is explained.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Event {
    pub now: u64,
    pub acked: u64,
    pub delivered: u64,
    pub lost: u64,
    pub inflight_before: u64,
    pub inflight: u64,
    pub rtt: u64,
    pub rate_delivered: u64,
    pub rate_interval: u64,
    pub rate_prior_delivered: u64,
    pub flags: u64,
    pub ce_bytes: u64,
    pub lost_ranges: u64,
    pub sent: u64,
    pub idle: u64,
    pub seed: u64,
    pub mss: u64,
    pub srtt: u64,
    pub rttvar: u64,
    pub path_min_rtt: u64,
    pub path_max_rtt: u64,
    pub path_max_bw: u64,
    pub path_delivered: u64,
    pub path_lost: u64,
    pub path_inflight: u64,
    pub cwnd: u64,
    pub ssthresh: u64,
    pub pacing_rate: u64,
    pub parameters: [f64; PARAMETERS],
}

impl Event {
    /// Whether a flag is set.
    pub fn is(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

/// An algorithm: its state for one flow, and what it does when something happens.
pub trait Algorithm: Copy {
    /// A flow begins, or moves here from another algorithm.
    fn start(event: &Event) -> Self;
    /// An ACK.
    fn on_ack(&mut self, event: &Event);
    /// The first loss or mark of a window.
    fn on_congestion(&mut self, event: &Event);
    /// The retransmission timer fired.
    fn on_rto(&mut self, event: &Event);
    /// All that was outstanding at `on_congestion` has been delivered.
    fn on_recovery_exit(&mut self, _event: &Event) {}
    /// The last reduction was a mistake.
    fn on_spurious(&mut self, _event: &Event) {}
    /// Sending resumes after a pause.
    fn on_idle_restart(&mut self, _event: &Event) {}
    /// Data left; called only if [`plugin!`] is told so.
    fn on_sent(&mut self, _event: &Event) {}
}

/// The functions of the host: Table 1 of the Mystique paper, and more. `windlass.h` explains them.
#[allow(non_snake_case, missing_docs)]
pub mod host {
    mod raw {
        #[link(wasm_import_module = "windlass")]
        extern "C" {
            pub fn getCRTT() -> i64;
            pub fn getCBW() -> i64;
            pub fn getMinRTT() -> i64;
            pub fn getMaxRTT() -> i64;
            pub fn getMaxBW() -> i64;
            pub fn isLoss() -> i32;
            pub fn setPeriod(ns: i64);
            pub fn setTstep(ns: i64);
            pub fn setBWstep(rate: i64);
            pub fn setCwnd(bytes: i64);
            pub fn setSsthresh(bytes: i64);
            pub fn setPacingRate(rate: i64);
            pub fn setPhase(phase: i32);
        }
    }

    macro_rules! functions {
        ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $from:ty as $to:ty)?) $(-> $result:ty)?;)+) => {
            $($(#[$doc])* pub fn $name($($arg: $from)?) $(-> $result)? {
                // Safe: the host answers every call, and touches nothing of ours.
                unsafe { raw::$name($($arg as $to)?) $(as $result)? }
            })+
        };
    }

    /// What [`getMinRTT`] says before the first sample, ns.
    pub const UNKNOWN_MIN_RTT: u64 = i64::MAX as u64;

    functions! {
        /// Newest RTT, ns.
        fn getCRTT() -> u64;
        /// Newest delivery rate, bytes per second.
        fn getCBW() -> u64;
        /// Least RTT, aged; [`UNKNOWN_MIN_RTT`] while unknown, as in the paper.
        fn getMinRTT() -> u64;
        /// Largest RTT, aged; 0 while unknown.
        fn getMaxRTT() -> u64;
        /// Largest delivery rate, aged; 0 while unknown.
        fn getMaxBW() -> u64;
        /// How often they take a step, ns; 0: never.
        fn setPeriod(ns: u64 as i64);
        /// What the least RTT grows by, and the largest loses.
        fn setTstep(ns: u64 as i64);
        /// What the largest rate loses.
        fn setBWstep(rate: u64 as i64);
        /// Bytes that may be in flight.
        fn setCwnd(bytes: u64 as i64);
        /// Bytes per second; 0: no pacing.
        fn setPacingRate(rate: u64 as i64);
        /// 0 slow start, 1 avoidance, 2 startup, 3 drain, 4 probe_bw, 5 probe_rtt.
        fn setPhase(phase: i32 as i32);
    }

    /// This event tells of loss or of a mark, or a recovery episode is open.
    pub fn isLoss() -> bool {
        // Safe: see above.
        unsafe { raw::isLoss() != 0 }
    }

    /// Where recovery ends, at least a segment; `u64::MAX`: no threshold.
    pub fn setSsthresh(bytes: u64) {
        // Safe: see above.
        unsafe { raw::setSsthresh(i64::try_from(bytes).unwrap_or(i64::MAX)) }
    }
}

const EVENT_WORDS: usize = 28 + PARAMETERS;

/// `struct windlass_block`: the event, and the state behind it.
#[doc(hidden)]
#[repr(C)]
pub struct Block {
    event: [u64; EVENT_WORDS],
    state: [u64; STATE_BYTES / 8],
}

#[doc(hidden)]
impl Block {
    pub const EMPTY: Block = Block {
        event: [0; EVENT_WORDS],
        state: [0; STATE_BYTES / 8],
    };

    pub fn event(&self) -> &Event {
        // Safe: an event is as many numbers of 8 bytes, of which every bit pattern is one.
        unsafe { &*self.event.as_ptr().cast::<Event>() }
    }

    /// Reads the state, lets `change` change it, and writes it back.
    ///
    /// # Safety
    /// The state was written by [`Block::put`] for the same type.
    pub unsafe fn with<A: Algorithm>(&mut self, change: impl FnOnce(&mut A, &Event)) {
        let place = self.state.as_mut_ptr().cast::<A>();
        let mut state = place.read();
        change(&mut state, self.event());
        place.write(state);
    }

    /// Writes the state.
    pub fn put<A: Algorithm>(&mut self, state: A) {
        assert!(core::mem::size_of::<A>() <= STATE_BYTES && core::mem::align_of::<A>() <= 8);
        // Safe: it has room and is aligned, as was just asserted (and the compiler has decided).
        unsafe { self.state.as_mut_ptr().cast::<A>().write(state) }
    }
}

/// Makes a module of an [`Algorithm`]. `$about` is its description (docs/plugins.md), as TOML.
/// `plugin!(Mine, ABOUT, on_sent)` asks for `on_sent` too, at the price of a call for every packet.
#[macro_export]
macro_rules! plugin {
    ($algorithm:ty, $about:expr) => {
        $crate::plugin!(@module $algorithm, $about);
    };
    ($algorithm:ty, $about:expr, on_sent) => {
        $crate::plugin!(@module $algorithm, $about);
        $crate::plugin!(@event $algorithm, on_sent);
    };
    (@event $algorithm:ty, $name:ident) => {
        #[no_mangle]
        pub extern "C" fn $name() {
            // Safe: a module has one thread, and on_start has written the state of every flow.
            unsafe {
                (*core::ptr::addr_of_mut!(WINDLASS_BLOCK)).with::<$algorithm>(|a, event| {
                    $crate::Algorithm::$name(a, event)
                });
            }
        }
    };
    (@module $algorithm:ty, $about:expr) => {
        static mut WINDLASS_BLOCK: $crate::Block = $crate::Block::EMPTY;
        static WINDLASS_ABOUT: &str = concat!($about, "\0");

        #[no_mangle]
        pub extern "C" fn windlass_abi() -> i32 {
            2
        }

        #[no_mangle]
        pub extern "C" fn windlass_about() -> *const u8 {
            WINDLASS_ABOUT.as_ptr()
        }

        #[no_mangle]
        pub extern "C" fn windlass_block() -> *mut $crate::Block {
            // Safe: only the address is taken.
            unsafe { core::ptr::addr_of_mut!(WINDLASS_BLOCK) }
        }

        #[no_mangle]
        pub extern "C" fn on_start() {
            // Safe: a module has one thread.
            unsafe {
                let block = &mut *core::ptr::addr_of_mut!(WINDLASS_BLOCK);
                block.put(<$algorithm as $crate::Algorithm>::start(block.event()));
            }
        }

        $crate::plugin!(@event $algorithm, on_ack);
        $crate::plugin!(@event $algorithm, on_congestion);
        $crate::plugin!(@event $algorithm, on_rto);
        $crate::plugin!(@event $algorithm, on_recovery_exit);
        $crate::plugin!(@event $algorithm, on_spurious);
        $crate::plugin!(@event $algorithm, on_idle_restart);

        #[cfg(target_arch = "wasm32")]
        #[panic_handler]
        fn windlass_panic(_: &core::panic::PanicInfo) -> ! {
            core::arch::wasm32::unreachable()
        }
    };
}
