//! Segments that are forged around a handshake, by somebody who sees it.
//!
//! There is little that no end believes: one that listens takes any SYN, one that has sent a SYN any
//! SYN in answer, and one that has sent a SYN-ACK any SYN or reset within its window.

use windlass_wire::{Flags, Segment};

use super::forging::{Forger, Lie};

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);
const RST_ACK: Flags = Flags(Flags::RST.0 | Flags::ACK.0);

impl Forger<'_> {
    /// A segment after one of a handshake: a SYN, a SYN-ACK, or an answer to that.
    pub fn in_handshake(&mut self, model: &Segment) -> (bool, Vec<u8>) {
        let lie = if model.flags.has(SYN_ACK) {
            self.after_syn_ack(model)
        } else if model.flags.has(Flags::SYN) {
            self.after_syn(model)
        } else {
            self.after_answer(model)
        };
        (lie.back, self.forge(model, lie))
    }

    /// The server listens, or waits for the answer to its SYN-ACK; the client waits for that.
    fn after_syn(&mut self, model: &Segment) -> Lie {
        let number = self.rng.bits() as u32;
        // RFC 9293 §3.10.7.3: what acknowledges something else is no answer.
        let wrong = Lie {
            seq: number,
            ack: self.wrong(model.seq),
            back: true,
            ..Lie::default()
        };
        let again = Lie {
            seq: model.seq,
            flags: Flags::SYN,
            ..Lie::default()
        };
        let far = self.far(model.seq);
        match self.rng.between(0, 7) {
            0 | 1 => Lie {
                flags: SYN_ACK,
                ..wrong
            },
            7 => Lie {
                seq: number,
                turned: true,
                ..again
            },
            2 => Lie {
                flags: RST_ACK,
                ..wrong
            },
            3 => Lie {
                flags: Flags::RST,
                ..wrong
            },
            4 => Lie {
                flags: Flags::ACK,
                ..wrong
            },
            5 => Lie {
                damaged: true,
                ..again
            },
            _ => Lie {
                seq: far,
                flags: Flags::RST,
                ..again
            },
        }
    }

    /// The client waits for the SYN-ACK, or is open; the server waits for the answer.
    fn after_syn_ack(&mut self, model: &Segment) -> Lie {
        let wrong = Lie {
            seq: model.seq,
            ack: self.wrong(model.ack),
            ..Lie::default()
        };
        let right = Lie {
            ack: model.ack,
            flags: SYN_ACK,
            ..wrong
        };
        let answer = Lie {
            seq: model.ack,
            ack: self.wrong(model.seq),
            back: true,
            ..Lie::default()
        };
        let far = self.far(model.ack);
        let stamped = model.options.timestamps.is_some();
        match self.rng.between(0, 9) {
            0 | 1 => Lie {
                flags: SYN_ACK,
                ..wrong
            },
            2 => Lie {
                flags: RST_ACK,
                ..wrong
            },
            3 => Lie {
                flags: Flags::ACK,
                ..wrong
            },
            4 => Lie {
                signed: true,
                ..right
            },
            // It echoes what its receiver has never sent (RFC 7323 §3.2).
            5 if stamped => Lie {
                later: (0, 1 << 30),
                ..right
            },
            6 => Lie {
                seq: far,
                flags: Flags::RST,
                ..answer
            },
            7 => Lie {
                flags: Flags::ACK,
                ..answer
            },
            8 => Lie {
                flags: Flags(0),
                ..answer
            },
            _ => Lie {
                damaged: true,
                ..right
            },
        }
    }

    /// The server waits for the answer to its SYN-ACK, or is open.
    fn after_answer(&mut self, model: &Segment) -> Lie {
        let wrong = Lie {
            seq: model.seq,
            ack: self.wrong(model.ack),
            flags: Flags::ACK,
            ..Lie::default()
        };
        let far = Lie {
            seq: self.far(model.seq),
            ..wrong
        };
        match self.rng.between(0, 4) {
            0 => wrong,
            1 => Lie {
                flags: Flags::RST,
                ..far
            },
            2 => Lie {
                flags: Flags(0),
                ..wrong
            },
            3 => Lie {
                flags: Flags::SYN,
                ..far
            },
            _ => Lie {
                ack: model.ack,
                damaged: true,
                ..wrong
            },
        }
    }

    /// Another number, that nothing will have for long.
    fn wrong(&mut self, number: u32) -> u32 {
        number.wrapping_add(self.rng.between(1 << 28, 1 << 30) as u32)
    }
}
