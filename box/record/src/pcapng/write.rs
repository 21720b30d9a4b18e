//! A recording as pcapng (draft-ietf-opsawg-pcapng): two interfaces, and at each packet what was decided.

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriteError, PcapNgWriter};
use windlass_engine::Side;

use super::DESCRIPTIONS;
use crate::describe::Describer;
use crate::entry::{Entry, HEADERS_MAX_BYTES, What};
use crate::recording::Recording;

/// `epb_flags` (§4.3.1): direction of a packet.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

const ABOUT: &str = "Headers of packets as they came into windlass and as they left it, on both of its interfaces. The comment of a \
                     packet says what was decided. Payload is not recorded.";

/// Writes all of it.
///
/// # Errors
/// It cannot be written there.
pub fn write(recording: &Recording, to: impl Write) -> Result<(), PcapNgWriteError> {
    let origin = &recording.origin;
    let section = SectionHeaderBlock {
        options: vec![
            SectionHeaderOption::UserApplication(format!("windlass {}", origin.version).into()),
            SectionHeaderOption::Common(CommonOption::Comment(ABOUT.into())),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut file = PcapNgWriter::with_section_header(to, section)?;
    for (name, description) in [&origin.inside, &origin.outside]
        .into_iter()
        .zip(DESCRIPTIONS)
    {
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: HEADERS_MAX_BYTES as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(name.as_str().into()),
                InterfaceDescriptionOption::IfDescription(description.into()),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ],
        };
        file.write_block(&interface.into_block())?;
    }
    let mut describer = Describer::default();
    for entry in &recording.entries {
        let comment = describer.describe(entry);
        file.write_block(&packet(recording, entry, &comment).into_block())?;
    }
    for side in [Side::Inside, Side::Outside] {
        file.write_block(&statistics(recording, side).into_block())?;
    }
    Ok(())
}

fn packet<'a>(
    recording: &Recording,
    entry: &'a Entry,
    comment: &'a str,
) -> EnhancedPacketBlock<'a> {
    let direction = match entry.what {
        What::Left(_) => OUTBOUND,
        _ => INBOUND,
    };
    EnhancedPacketBlock {
        interface_id: entry.side as u32,
        timestamp: Duration::from_nanos(entry.unix_ns(&recording.origin)),
        original_len: entry.length.max(entry.headers.len() as u32),
        data: Cow::Borrowed(&entry.headers),
        options: vec![
            EnhancedPacketOption::Flags(direction),
            EnhancedPacketOption::Common(CommonOption::Comment(comment.into())),
        ],
    }
}

/// What is missing in this time. `isb_osdrop` counts what passed the box and was not recorded.
fn statistics(recording: &Recording, side: Side) -> InterfaceStatisticsBlock<'static> {
    let losses = &recording.losses;
    let packets = recording.entries.iter().filter(|entry| entry.side == side);
    let last = recording.entries.last();
    let comment = format!(
        "windlass: {} packets were to leave and were dropped by the driver; {} were dropped before windlass took them (both interfaces)",
        losses.dropped_leaving, losses.dropped_coming
    );
    InterfaceStatisticsBlock {
        interface_id: side as u32,
        timestamp: Duration::from_nanos(last.map_or(0, |entry| entry.unix_ns(&recording.origin))),
        options: vec![
            InterfaceStatisticsOption::IsbIfRecv(packets.count() as u64),
            InterfaceStatisticsOption::IsbOsDrop(losses.unrecorded),
            InterfaceStatisticsOption::Common(CommonOption::Comment(comment.into())),
        ],
    }
}
