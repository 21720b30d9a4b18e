//! Offloads, channels and driver name of an interface (`SIOCETHTOOL`; linux/ethtool.h).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;

use crate::sys::{self, InterfaceRequest};

mod feature;

use feature::{Blocks, Count, Names};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
/// As the kernel names it (`netdev_features_strings`).
const UDP_SEGMENTATION: &str = "tx-udp-segmentation";
const ETH_FLAG_RXVLAN: u32 = 1 << 8;
const ETH_FLAG_LRO: u32 = 1 << 15;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    max_rx: u32,
    max_tx: u32,
    max_other: u32,
    max_combined: u32,
    rx: u32,
    tx: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// What changes packets between the wire and us.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offloads {
    /// TCP segmentation on transmission.
    pub tso: bool,
    /// Generic segmentation on transmission.
    pub gso: bool,
    /// Generic receive offload.
    pub gro: bool,
    /// UDP segmentation on transmission, as QUIC senders ask for it; not a part of `gso`.
    pub udp_gso: bool,
    /// Large receive offload.
    pub lro: bool,
    /// Checksums on transmission.
    pub tx_checksum: bool,
    /// VLAN tags are taken out of received frames.
    pub rx_vlan: bool,
}

/// Asks about one interface.
pub(crate) struct Ethtool<'a> {
    socket: OwnedFd,
    name: &'a str,
}

impl<'a> Ethtool<'a> {
    pub(crate) fn new(name: &'a str) -> io::Result<Self> {
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        Ok(Ethtool { socket, name })
    }

    /// What cannot be asked counts as off.
    pub(crate) fn offloads(&self) -> Offloads {
        let flags = self.value(ETHTOOL_GFLAGS);
        Offloads {
            tso: self.value(ETHTOOL_GTSO) != 0,
            gso: self.value(ETHTOOL_GGSO) != 0,
            gro: self.value(ETHTOOL_GGRO) != 0,
            udp_gso: self
                .feature(UDP_SEGMENTATION)
                .is_some_and(|(bit, all)| all.is_on(bit)),
            lro: flags & ETH_FLAG_LRO != 0,
            tx_checksum: self.value(ETHTOOL_GTXCSUM) != 0,
            rx_vlan: flags & ETH_FLAG_RXVLAN != 0,
        }
    }

    /// Turns off what joins and splits segments, and says what is on afterwards. What the interface cannot change it leaves as
    /// it is: a veth whose peer has an XDP program has no segmentation to turn off (`veth_xdp_set`, Linux 6.18).
    pub(crate) fn disable_segment_offloads(&self) -> io::Result<Offloads> {
        for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO] {
            match self.ask(&mut Value { command, data: 0 }) {
                Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                answer => answer?,
            }
        }
        if let Some((bit, all)) = self.feature(UDP_SEGMENTATION) {
            self.ask(&mut all.turn_off(bit))?;
        }
        Ok(self.offloads())
    }

    /// The number of a feature that has no command of its own, and which are on; `None` where the
    /// kernel does not know it.
    fn feature(&self, name: &str) -> Option<(usize, Blocks)> {
        let mut count = Count::new();
        self.ask(&mut count).ok()?;
        let mut names = Names::new(count.features()?);
        self.ask(&mut names).ok()?;
        let bit = names.position(name)?;
        let mut all = Blocks::get();
        self.ask(&mut all).ok()?;
        Some((bit, all))
    }

    /// Active receive and transmit queues; one of each if the driver does not tell.
    pub(crate) fn queues(&self) -> (u32, u32) {
        let mut channels = Channels {
            command: ETHTOOL_GCHANNELS,
            ..Channels::default()
        };
        match self.ask(&mut channels) {
            Ok(()) => (
                (channels.rx + channels.combined).max(1),
                (channels.tx + channels.combined).max(1),
            ),
            Err(_) => (1, 1),
        }
    }

    /// Name of the driver, empty if it does not tell.
    pub(crate) fn driver(&self) -> String {
        let mut info = DriverInfo {
            command: ETHTOOL_GDRVINFO,
            driver: [0; 32],
            rest: [0; 160],
        };
        if self.ask(&mut info).is_err() {
            return String::new();
        }
        let end = info.driver.iter().position(|&b| b == 0).unwrap_or(32);
        String::from_utf8_lossy(&info.driver[..end]).into_owned()
    }

    fn value(&self, command: u32) -> u32 {
        let mut value = Value { command, data: 0 };
        self.ask(&mut value).map_or(0, |()| value.data)
    }

    /// `question` is one of the structures above, with its command set.
    fn ask<T>(&self, question: &mut T) -> io::Result<()> {
        let data = std::ptr::from_mut(question) as usize;
        let mut request = InterfaceRequest::new(self.name, data)?;
        // SAFETY: the request carries a pointer to a structure that is as large as its command's
        // answer, exclusively borrowed for the duration of the call.
        unsafe { sys::ioctl(&self.socket, SIOCETHTOOL, &raw mut request) }
    }
}
