//! What the engine asks of policy: who is governed, in which mode, by what.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, MILLISECOND, Nanos, Settings};
use windlass_wire::FlowKey;

use crate::{Side, Tenant, TenantId};

/// How far the engine may go with a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Mode {
    /// Measure, change nothing.
    Observe,
    /// Also compute what would be done.
    Advise,
    /// Do it.
    #[default]
    Enforce,
}

impl Mode {
    /// Its name in configuration and output.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Observe => "observe",
            Mode::Advise => "advise",
            Mode::Enforce => "enforce",
        }
    }
}

/// Second copies of packets, sent a little later in idle pacing slots only (Flach et al. 2013,
/// "gentle aggression").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Redundancy {
    /// Copies of retransmissions.
    pub repairs: bool,
    /// Copies of the first so many data segments of a flow. On a path that is known to lose segments, of twice as many, and of what
    /// comes before the sender falls silent.
    pub first_segments: u32,
    /// A second copy of the sender's SYN-ACK.
    pub syn_ack: bool,
    /// How much later than the packet itself its copy leaves, ns.
    pub delay: Nanos,
    /// Copies at most, in thousandths of the segments sent, retransmission copies aside.
    pub budget_permille: u32,
}

impl Redundancy {
    /// No copies.
    pub const OFF: Redundancy = Redundancy {
        repairs: false,
        first_segments: 0,
        syn_ack: false,
        delay: 3 * MILLISECOND,
        budget_permille: 0,
    };
    /// Copies of what is repaired, and nothing else.
    pub const REPAIRS: Redundancy = Redundancy {
        repairs: true,
        ..Redundancy::OFF
    };
    /// Copies of repairs, of the SYN-ACK and of the first 900 segments. Once the path is known to lose segments: of the first 1,800, or of
    /// two bandwidth-delay products, and of ends of messages.
    pub const EARLY: Redundancy = Redundancy {
        repairs: true,
        first_segments: 900,
        syn_ack: true,
        delay: 3 * MILLISECOND,
        budget_permille: 1000,
    };
}

/// What policy wants for one direction of one connection.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// How far to go.
    pub mode: Mode,
    /// The congestion control, with its parameters. Its names are written apart: only a catalog can read them back.
    #[serde(skip, default = "to_be_named")]
    pub algorithm: Settings,
    /// Copies.
    pub redundancy: Redundancy,
    /// Keep the sender's own slow start from ending early (ARCHITECTURE.md, "Head-room").
    pub headroom: bool,
    /// Offer SACK to the receiver on behalf of a sender that does not do it.
    pub insert_sack: bool,
    /// Where marks of the network are heard of.
    pub feedback: Feedback,
    /// Data so many bytes beyond the edge that the sender was shown is dropped; `None`: it is not.
    pub police_tolerance: Option<u32>,
    /// What the flow may send, bytes per second of TCP payload; `None`: no limit.
    pub cap: Option<ByteRate>,
    /// Whose flow it is.
    pub tenant: Option<TenantId>,
    /// What becomes of the connection where it cannot be governed.
    pub ungoverned: Ungoverned,
    /// Packets that it sends in its turn among the flows of its tenant, 1 or more: its share of the
    /// tenant's cap is as large beside theirs.
    pub priority: u8,
    /// Number of the rule that says so, from 0.
    pub rule: Option<u16>,
    /// The algorithm is chosen among several ([`Decide::draw`]), and policy wants to hear what comes of it.
    pub arm: Option<Arm>,
    /// When the algorithm is to be another one; `None`: it stays.
    pub switching: Option<Switching>,
    /// The flow is compared with others, of which some are only observed.
    pub drawn: Option<Drawn>,
}

/// What stands in a verdict that has been read until its algorithm is named.
fn to_be_named() -> Settings {
    Settings::from(windlass_cc::AlgorithmId::Reno)
}

/// Counts the policies of an engine. Tenants, rules, arms and lists of conditions are numbers in one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Generation(pub(crate) u32);

/// Which policy it is, among those that took charge one after the other. Numbers of rules, tenants and conditions mean something
/// in one edition only. What the engine tells carries the edition, since it may be read when another policy is in charge. Each
/// engine counts generations for itself; all engines of a process have the same editions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Edition(pub u32);

/// One of several algorithms that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Arm {
    /// By whom.
    pub by: Comparison,
    /// Which one.
    pub number: u8,
}

/// Who compares algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Comparison {
    /// Policy learns which is best for whom.
    Auto,
    /// The operator has asked for a trial.
    Trial,
}

impl Comparison {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Comparison::Auto => "auto",
            Comparison::Trial => "trial",
        }
    }
}

/// What a flow has drawn whose rule is compared with doing nothing ([`Decide::hold_out`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// The number that policy gives the rule for this.
    pub rule: u16,
    /// Share of the flows that was held out then, in 65,535ths.
    pub share: u16,
    /// The flow is only observed.
    pub held_out: bool,
}

/// Data of a flow from the first byte that waited until nothing was outstanding any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Bytes acknowledged.
    pub bytes: u64,
    /// How long it took, ns.
    pub duration: Nanos,
    /// Bytes of the largest transfer of the flow before.
    pub largest_before: u64,
    /// Everything was acknowledged; else the connection ended before.
    pub complete: bool,
}

/// A list of conditions on the live path, kept by policy ([`Decide::choose`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Switching {
    /// Which list.
    pub list: u16,
    /// An algorithm that a condition has brought stays for so long at least, ns; and the ratios that
    /// conditions ask about are those of the last half to whole dwell. 0: every ACK is a reason to
    /// look, and counts alone.
    pub dwell: Nanos,
}

/// What conditions can ask about.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LivePath {
    /// Smoothed RTT (RFC 6298).
    pub rtt: Nanos,
    /// Smallest RTT of the flow.
    pub min_rtt: Nanos,
    /// RTT variation (RFC 6298).
    pub rtt_var: Nanos,
    /// Bytes lost of bytes sent, 0 to 1.
    pub loss_ratio: f64,
    /// Bytes marked CE of bytes delivered, 0 to 1.
    pub ce_ratio: f64,
    /// Largest recent delivery rate.
    pub delivery_rate: ByteRate,
    /// Bytes delivered so far.
    pub bytes_acked: u64,
    /// Since the flow began.
    pub age: Nanos,
    /// The newest rate sample was limited by the sender.
    pub app_limited: bool,
}

/// What a path asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// Which condition of the list; `None`: none of them holds.
    pub condition: Option<u8>,
    /// The algorithm.
    pub algorithm: Settings,
}

/// Who says that the network has marked packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Feedback {
    /// The receiver, where the ends have agreed on ECN.
    #[default]
    Ends,
    /// Another box on the receiver's side, if there is one; the ends need not know of ECN.
    Boxes,
}

impl Feedback {
    /// Its name in configuration and output.
    pub fn name(self) -> &'static str {
        match self {
            Feedback::Ends => "ends",
            Feedback::Boxes => "boxes",
        }
    }
}

/// What becomes of a connection that policy wants governed, and that cannot be, because of what its ends have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Ungoverned {
    /// It passes unchanged.
    #[default]
    Pass,
    /// It passes as far as the cap of its tenant goes; what comes beyond is dropped.
    Limit,
    /// Its packets are dropped.
    Drop,
}

impl Verdict {
    /// Enforce `algorithm` with all the help the engine has, without copies.
    pub fn enforce(algorithm: impl Into<Settings>) -> Verdict {
        Verdict {
            mode: Mode::Enforce,
            algorithm: algorithm.into(),
            redundancy: Redundancy::OFF,
            headroom: true,
            insert_sack: true,
            feedback: Feedback::Ends,
            police_tolerance: None,
            cap: None,
            tenant: None,
            ungoverned: Ungoverned::Pass,
            priority: 1,
            rule: None,
            arm: None,
            switching: None,
            drawn: None,
        }
    }

    /// What is left of it for a flow that is only observed.
    pub fn held_out(self) -> Verdict {
        Verdict {
            mode: Mode::Observe,
            redundancy: Redundancy::OFF,
            insert_sack: false,
            arm: None,
            switching: None,
            ..self
        }
    }
}

/// Policy, as the engine sees it.
pub trait Decide: Send {
    /// Which rule is for the data of `sender`; `None` leaves them alone. `flow` runs from their sender to their receiver.
    /// The engine may ask as often as it likes: the answer is the same as long as the policy is. Where the rule compares
    /// algorithms, [`Verdict::arm`] says by whom, and its number means nothing yet.
    fn classify(&self, flow: &FlowKey, sender: Side, now: Nanos) -> Option<Verdict>;

    /// Chooses among the algorithms that are compared, by chance or by experience. The engine asks once in the life of a
    /// flow, when it begins, and only where [`Decide::classify`] has named a comparison.
    fn draw(&self, verdict: Verdict, _flow: &FlowKey, _now: Nanos) -> Verdict {
        verdict
    }

    /// Whether the flow is only observed, so that those that are governed can be compared with it. The engine asks once,
    /// when both SYNs are known. `None`: there is no such comparison.
    fn hold_out(&self, _verdict: &Verdict, _flow: &FlowKey) -> Option<Drawn> {
        None
    }

    /// All of it, for who asks once.
    fn decide(&self, flow: &FlowKey, sender: Side, now: Nanos) -> Option<Verdict> {
        let verdict = self.classify(flow, sender, now)?;
        let drawn = self.hold_out(&verdict, flow);
        let verdict = Verdict { drawn, ..verdict };
        Some(match (drawn, verdict.arm) {
            (Some(drawn), _) if drawn.held_out => verdict.held_out(),
            (_, Some(_)) => self.draw(verdict, flow, now),
            (_, None) => verdict,
        })
    }

    /// What this path asks for of the conditions of `list`, of which number `in_force` brought the
    /// present algorithm. Asked only for verdicts with [`Verdict::switching`]; `None`: nothing else.
    fn choose(&self, _list: u16, _in_force: Option<u8>, _path: &LivePath) -> Option<Choice> {
        None
    }

    /// A flow has begun that has an arm, or has drawn.
    fn begin(&self, _verdict: &Verdict, _flow: &FlowKey, _now: Nanos) {}

    /// And has made a transfer.
    fn learn(&self, _verdict: &Verdict, _flow: &FlowKey, _transfer: &Transfer, _now: Nanos) {}

    /// Which one it is. A policy that is the only one need not say.
    fn edition(&self) -> Edition {
        Edition::default()
    }

    /// The tenants that verdicts name by their index. Asked once.
    fn tenants(&self) -> Vec<Tenant> {
        Vec::new()
    }
}

/// One verdict for every flow whose sender is inside.
impl Decide for Verdict {
    fn classify(&self, _flow: &FlowKey, sender: Side, _now: Nanos) -> Option<Verdict> {
        (sender == Side::Inside).then_some(*self)
    }
}
