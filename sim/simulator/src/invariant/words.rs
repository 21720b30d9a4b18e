//! What else an end is shown of the other one: echoed timestamps, ECN, and what SYNs and signatures say.

use std::collections::BTreeSet;

use windlass_wire::{Ecn, Flags, Segment, TcpOptions};

/// What one end has said of these things, as it came into the box.
#[derive(Debug, Default)]
pub(super) struct Words {
    echoes: BTreeSet<u32>,
    ece: bool,
    cwr: bool,
    marked: bool,
    /// Of all its SYNs.
    offers: Vec<Offer>,
    signed: bool,
    mptcp: bool,
}

/// The options of a SYN that both ends must agree on.
#[derive(Debug, PartialEq, Clone, Copy)]
struct Offer {
    mss: Option<u16>,
    scale: Option<u8>,
    timestamps: bool,
    sack: bool,
}

impl Offer {
    fn of(options: &TcpOptions) -> Offer {
        Offer {
            mss: options.mss,
            scale: options.window_scale,
            timestamps: options.timestamps.is_some(),
            sack: options.sack_permitted,
        }
    }
}

fn is_signed(options: &TcpOptions) -> bool {
    options.md5 || options.ao
}

impl Words {
    /// Takes in what the end says.
    pub(super) fn note(&mut self, segment: &Segment) {
        let options = &segment.options;
        self.echoes
            .extend(options.timestamps.map(|stamps| stamps.ecr));
        if segment.flags.has(Flags::SYN) {
            self.offers.push(Offer::of(options));
        } else {
            self.ece |= segment.flags.has(Flags::ECE);
            self.cwr |= segment.flags.has(Flags::CWR);
        }
        self.marked |= segment.ecn == Ecn::Ce;
        self.signed |= is_signed(options);
        self.mptcp |= options.mptcp;
    }

    /// What is wrong about a segment in this end's name toward an end that has said `other`.
    pub(super) fn faults(&self, other: &Words, segment: &Segment) -> Vec<String> {
        let options = &segment.options;
        let mut faults = Vec::new();
        if let Some(stamps) = options.timestamps
            && !self.echoes.contains(&stamps.ecr)
        {
            faults.push(format!("TSecr {}, which was never echoed", stamps.ecr));
        }
        let syn = segment.flags.has(Flags::SYN);
        if segment.flags.has(Flags::ECE) && !syn && !self.ece {
            faults.push("ECE that the receiver did not say".into());
        }
        // The box answers the marks that it hides.
        if segment.flags.has(Flags::CWR) && !syn && !self.cwr && !other.ece {
            faults.push("CWR to one who has told of no mark".into());
        }
        if segment.ecn == Ecn::Ce && !self.marked {
            faults.push("a mark that nobody has made".into());
        }
        if is_signed(options) && !self.signed || options.mptcp && !self.mptcp {
            faults.push("an option that its sender did not use".into());
        }
        if syn && !self.has_offered(other, Offer::of(options)) {
            faults.push("a SYN with other options".into());
        }
        faults
    }

    /// SACK may be offered in the name of one who answers and does not do it, to one who does.
    fn has_offered(&self, other: &Words, shown: Offer) -> bool {
        let inserted = other.offers.iter().any(|offer| offer.sack);
        let mut offers = self.offers.iter();
        offers.any(|said| {
            *said == shown
                || inserted
                    && shown.sack
                    && *said
                        == Offer {
                            sack: false,
                            ..shown
                        }
        })
    }
}
