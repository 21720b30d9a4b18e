//! Captures of both interfaces, by whomever they were made.

use std::borrow::Cow;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{PcapNgFormatError, PcapNgParseError, PcapNgParser};

use windlass_engine::Nanos;

/// The first bytes of the older format, in either order and resolution.
const PCAP_MAGIC: [u32; 4] = [0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1];
/// Packets in a file at most: each takes about 64 bytes of memory beside the file.
const PACKETS_MAX: usize = 100_000_000;

/// Which way a packet went at its interface, as far as the file says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Into the box.
    In,
    /// Out of it.
    Out,
}

/// An interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    /// `if_name`, if the file has it.
    pub name: Option<String>,
    /// `if_description`, if the file has it.
    pub description: Option<String>,
    /// Packets that were not captured, by the statistics of the file.
    pub dropped: u64,
}

/// A packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured<'a> {
    /// The number that Wireshark shows, from 1.
    pub number: u32,
    /// ns since 1970.
    pub time: Nanos,
    /// Of the interface, from 0.
    pub interface: u32,
    /// Which way it went, if the file says so.
    pub direction: Option<Direction>,
    /// Its length on the wire, bytes.
    pub length: u32,
    /// What was captured of it.
    pub data: &'a [u8],
}

/// A file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture<'a> {
    /// By number.
    pub interfaces: Vec<Interface>,
    /// In the order of the file.
    pub packets: Vec<Captured<'a>>,
}

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoCapture {
    /// The older format has one interface only.
    #[error(
        "this is pcap, which has one interface: capture both interfaces and put them together with \
         mergecap -I none -w both.pcapng inside.pcap outside.pcap"
    )]
    Pcap,
    /// It is no capture.
    #[error("this is no pcapng file: {0}")]
    Other(String),
    /// It ends in the midst of a block.
    #[error("the file is cut off after packet {0}: copy it again as a whole")]
    CutOff(usize),
    /// A block is wrong.
    #[error("the file is damaged after packet {0}: {1}")]
    Damaged(usize, String),
    /// An interface that is no Ethernet.
    #[error(
        "interface {0} has link type {1}, and Windlass reads Ethernet only: capture with tcpdump -i INTERFACE, not -i any"
    )]
    LinkType(usize, String),
    /// A packet without a time or an interface.
    #[error(
        "packet {0} has no time or interface of its own (a simple or an obsolete packet block)"
    )]
    NoTime(usize),
    /// It has more packets than can be judged.
    #[error("the file has more than {PACKETS_MAX} packets: split it with editcap -c")]
    TooMany,
    /// A second section begins: packets of both are not told apart.
    #[error(
        "the file has several sections: put captures together with mergecap -I none, not with cat"
    )]
    Sections,
}

/// Everything that an error says, causes too.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}

impl<'a> Capture<'a> {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`NoCapture`].
    pub fn read(file: &'a [u8]) -> Result<Capture<'a>, NoCapture> {
        let magic = file.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        if magic.is_some_and(|magic| PCAP_MAGIC.contains(&magic)) {
            return Err(NoCapture::Pcap);
        }
        let (mut rest, mut parser) = match PcapNgParser::new(file) {
            Ok(begun) => begun,
            Err(PcapNgParseError::IncompleteBuffer(..)) if !file.is_empty() => {
                return Err(NoCapture::CutOff(0));
            }
            Err(error) if file.is_empty() => {
                let _ = error;
                return Err(NoCapture::Other("it is empty".to_owned()));
            }
            Err(error) => return Err(NoCapture::Other(words(&error))),
        };
        let mut capture = Capture::default();
        while !rest.is_empty() {
            let block;
            (rest, block) = parser
                .next_block(rest)
                .map_err(|error| capture.wrong(&error))?;
            capture.add(block)?;
        }
        Ok(capture)
    }

    fn wrong(&self, error: &PcapNgParseError) -> NoCapture {
        let so_far = self.packets.len();
        match error {
            PcapNgParseError::IncompleteBuffer(..) => NoCapture::CutOff(so_far),
            PcapNgParseError::InvalidFormat(PcapNgFormatError::BlockTooShort(..)) => {
                NoCapture::Damaged(so_far, "a block is too short to be one".to_owned())
            }
            error => NoCapture::Damaged(so_far, words(error)),
        }
    }

    fn add(&mut self, block: Block<'a>) -> Result<(), NoCapture> {
        match block {
            Block::SectionHeader(_) => return Err(NoCapture::Sections),
            Block::InterfaceDescription(interface) => self.add_interface(&interface)?,
            Block::EnhancedPacket(packet) => self.add_packet(packet)?,
            Block::Packet(_) | Block::SimplePacket(_) => {
                return Err(NoCapture::NoTime(self.packets.len() + 1));
            }
            Block::InterfaceStatistics(statistics) => {
                let Some(interface) = self.interfaces.get_mut(statistics.interface_id as usize)
                else {
                    return Ok(());
                };
                // Counts since the beginning, which may be told several times.
                let dropped = statistics.options.iter().map(|option| match option {
                    InterfaceStatisticsOption::IsbIfDrop(count)
                    | InterfaceStatisticsOption::IsbOsDrop(count) => *count,
                    _ => 0,
                });
                let dropped = dropped.fold(0, u64::saturating_add);
                interface.dropped = interface.dropped.max(dropped);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_interface(&mut self, block: &InterfaceDescriptionBlock<'_>) -> Result<(), NoCapture> {
        let number = self.interfaces.len();
        if block.linktype != DataLink::ETHERNET {
            return Err(NoCapture::LinkType(number, format!("{:?}", block.linktype)));
        }
        let mut interface = Interface::default();
        for option in &block.options {
            match option {
                InterfaceDescriptionOption::IfName(name) => interface.name = Some(name.to_string()),
                InterfaceDescriptionOption::IfDescription(text) => {
                    interface.description = Some(text.to_string());
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn add_packet(&mut self, packet: EnhancedPacketBlock<'a>) -> Result<(), NoCapture> {
        if self.packets.len() >= PACKETS_MAX {
            return Err(NoCapture::TooMany);
        }
        let mut direction = None;
        for option in &packet.options {
            match option {
                EnhancedPacketOption::Flags(flags) => {
                    direction = match flags & 3 {
                        1 => Some(Direction::In),
                        2 => Some(Direction::Out),
                        _ => None,
                    };
                }
                EnhancedPacketOption::DropCount(count) => {
                    if let Some(interface) = self.interfaces.get_mut(packet.interface_id as usize) {
                        interface.dropped = interface.dropped.saturating_add(*count);
                    }
                }
                _ => {}
            }
        }
        // The file is in memory, and nothing in it is copied.
        let Cow::Borrowed(data) = packet.data else {
            return Ok(());
        };
        self.packets.push(Captured {
            number: self.packets.len() as u32 + 1,
            time: u64::try_from(packet.timestamp.as_nanos()).unwrap_or(u64::MAX),
            interface: packet.interface_id,
            direction,
            length: packet.original_len,
            data,
        });
        Ok(())
    }
}
