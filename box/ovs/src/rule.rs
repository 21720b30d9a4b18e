//! An OpenFlow rule of ours, and the cookie by which it is known.

use std::fmt;

/// In all cookies: `windlass` in ASCII, the last byte says what for.
pub(crate) const COOKIE: u64 = 0x7769_6e64_6c61_7300;
/// Of what all our cookies have in common.
pub(crate) const COOKIE_MASK: u64 = !0xff;
/// Of what those of the rules have in common that are put in, and not learned by the bridge.
pub(crate) const INSTALLED: (u64, u64) = (COOKIE | 0x10, !0xf);

/// What a rule is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// What comes back from the box.
    Return = 0x10,
    /// What goes to the box.
    Steer = 0x11,
    /// Where it has come from.
    Learned = 0x20,
}

impl Role {
    /// The cookie of these rules.
    pub(crate) fn cookie(self) -> u64 {
        COOKIE | self as u64
    }
}

/// A rule, as ovs-ofctl(8) reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub(crate) role: Role,
    pub(crate) table: u8,
    pub(crate) priority: u16,
    pub(crate) matching: String,
    pub(crate) actions: String,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cookie={:#x},table={},priority={},{},actions={}",
            self.role.cookie(),
            self.table,
            self.priority,
            self.matching,
            self.actions
        )
    }
}
