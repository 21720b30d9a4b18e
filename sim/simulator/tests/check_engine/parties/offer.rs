//! What an end offers in its SYN, and what both agree on.

use windlass_wire::{Flags, OptionWriter, Segment, Timestamps};

/// What an end can do.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub mss: u16,
    pub scale: Option<u8>,
    pub sack: bool,
    pub stamps: bool,
    pub ecn: bool,
    /// Room for what its application has not read, bytes.
    pub buffer: u32,
}

/// What both can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreed {
    pub own_scale: u8,
    pub others_scale: u8,
    pub scaled: bool,
    pub sack: bool,
    pub stamps: bool,
    pub ecn: bool,
    pub mss: u32,
}

impl Offer {
    /// From two bytes of the plan.
    pub fn new(bits: u8, scale: u8) -> Offer {
        let sizes = [536, 1460, 100, 300, 1000, 200, 700, 8960];
        let scale = (bits & 4 == 0).then_some(scale % 15);
        Offer {
            mss: sizes[usize::from(bits >> 5)],
            scale,
            sack: bits & 1 == 0,
            stamps: bits & 2 == 0,
            ecn: bits & 8 != 0,
            buffer: match scale {
                Some(_) if bits & 16 == 0 => 200_000,
                _ => 12_000,
            }
            .min(60_000 << scale.unwrap_or(0)),
        }
    }

    pub fn first_window(&self) -> u16 {
        self.buffer.min(u32::from(u16::MAX)) as u16
    }

    /// ECN is asked for with both flags, and agreed to with one (RFC 3168 §6.1.1).
    pub fn syn_flags(&self, answers: Option<&Agreed>) -> Flags {
        match answers {
            None if self.ecn => Flags::SYN.with(Flags::ECE).with(Flags::CWR),
            None => Flags::SYN,
            Some(agreed) if agreed.ecn => Flags::SYN.with(Flags::ACK).with(Flags::ECE),
            Some(_) => Flags::SYN.with(Flags::ACK),
        }
    }

    /// An answer has only the options that the question had.
    pub fn syn_options(&self, answers: Option<&Agreed>, stamps: Timestamps) -> Vec<u8> {
        let mut options = OptionWriter::new().mss(self.mss);
        if answers.map_or(self.sack, |agreed| agreed.sack) {
            options = options.sack_permitted();
        }
        if answers.map_or(self.stamps, |agreed| agreed.stamps) {
            options = options.nop().nop().timestamps(stamps);
        }
        if let Some(scale) = self.scale.filter(|_| answers.is_none_or(|a| a.scaled)) {
            options = options.nop().window_scale(scale);
        }
        options.into()
    }

    /// With the SYN or SYN-ACK of the other end.
    pub fn agree(&self, other: &Segment) -> Agreed {
        let options = &other.options;
        let scales = self.scale.zip(options.window_scale);
        let answers = other.flags.has(Flags::ACK);
        let both = other.flags.has(Flags::ECE.with(Flags::CWR));
        let agrees = other.flags.has(Flags::ECE) && !both;
        Agreed {
            own_scale: scales.map_or(0, |(own, _)| own),
            others_scale: scales.map_or(0, |(_, other)| other.min(14)),
            scaled: scales.is_some(),
            sack: self.sack && options.sack_permitted,
            stamps: self.stamps && options.timestamps.is_some(),
            ecn: self.ecn && if answers { agrees } else { both },
            mss: u32::from(self.mss.min(options.mss.unwrap_or(536)).max(64)) - 12,
        }
    }
}
