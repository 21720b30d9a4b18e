//! Who the flows belong to: what a tenant may send in all, and what it has sent.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, MILLISECOND, Nanos};
use windlass_wire::Addr;

/// Index of a tenant in [`crate::Decide::tenants`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TenantId(pub u16);

/// A tenant, as policy describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// What all its flows together may send, bytes per second of TCP payload; `None`: no limit.
    pub cap: Option<ByteRate>,
    /// Whose packets are its own.
    pub senders: Vec<Senders>,
    /// What else of theirs counts against the limit. What goes beyond is dropped.
    pub bounds: Bounds,
}

/// What counts against the limit of a tenant beside its governed flows.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Packets without TCP.
    pub non_tcp: bool,
    /// Segments of connections that Windlass does not know, or has let go of.
    pub unknown_tcp: bool,
}

impl Bounds {
    /// Something does.
    pub fn any(self) -> bool {
        self.non_tcp || self.unknown_tcp
    }
}

/// Addresses that begin alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Senders {
    /// The first of them.
    pub first: Addr,
    /// How many of their 128 bits are the same.
    pub bits: u32,
}

impl Senders {
    /// Whether `addr` is one of them. An IPv4 address is in no prefix of IPv6.
    pub fn contain(&self, addr: Addr) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
        let same = |addr: Addr| addr.ip().is_ipv4() == self.first.ip().is_ipv4();
        addr.0 & mask == self.first.0 & mask && same(addr)
    }
}

/// Whose packets are bounded that belong to no flow: all tenants' senders in their order, or none if no tenant wants it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounded {
    owners: Vec<(Senders, TenantId, Bounds)>,
}

impl Bounded {
    pub(crate) fn of(tenants: &[Tenant]) -> Bounded {
        if !tenants.iter().any(|tenant| tenant.bounds.any()) {
            return Bounded::default();
        }
        let owned = |(index, tenant): (usize, &Tenant)| {
            let (id, bounds) = (TenantId(index as u16), tenant.bounds);
            let owned = |senders: &Senders| (*senders, id, bounds);
            tenant.senders.iter().map(owned).collect::<Vec<_>>()
        };
        Bounded {
            owners: tenants.iter().enumerate().flat_map(owned).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Those that are bounded, in one way or the other.
    pub(crate) fn senders(&self) -> impl Iterator<Item = (Senders, Bounds)> {
        let bounded = self.owners.iter().filter(|(.., bounds)| bounds.any());
        bounded.map(|(senders, _, bounds)| (*senders, *bounds))
    }

    /// The tenant of `sender`, if what `counts` picks is bounded: the first whose senders it is among, as for flows.
    pub(crate) fn tenant_of(
        &self,
        sender: Addr,
        counts: impl Fn(Bounds) -> bool,
    ) -> Option<TenantId> {
        let owner = self.owners.iter().find(|(all, ..)| all.contain(sender));
        let owner = owner.filter(|(.., bounds)| counts(*bounds));
        owner.map(|(_, id, _)| *id)
    }
}

/// What a tenant has sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TenantInfo {
    /// Its name.
    pub name: String,
    /// Its limit, bytes per second.
    pub cap: Option<ByteRate>,
    /// Payload sent to receivers, retransmissions included.
    pub bytes_sent: u64,
    /// Packets that were dropped: beyond the shown edge, or beyond the limit where they could not wait for their turn.
    pub policed_packets: u64,
    /// Their payload.
    pub policed_bytes: u64,
}

impl TenantInfo {
    /// Adds what another engine says of the same tenant: caps are parts of one.
    pub fn add(&mut self, other: &TenantInfo) {
        self.cap = self.cap.zip(other.cap).map(|(a, b)| a + b);
        self.bytes_sent += other.bytes_sent;
        self.policed_packets += other.policed_packets;
        self.policed_bytes += other.policed_bytes;
    }
}

/// How much lateness is made up for, as in pacing, ns.
const CREDIT: Nanos = MILLISECOND;
/// How far the turns that are taken may reach into the future where a packet cannot wait for its own, ns.
const BURST: Nanos = 10 * MILLISECOND;

/// One tenant at work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Account {
    pub info: TenantInfo,
    /// When the next packet of the tenant may leave.
    next: Nanos,
}

impl Account {
    fn new(tenant: Tenant) -> Account {
        Account {
            info: TenantInfo {
                name: tenant.name,
                cap: tenant.cap,
                bytes_sent: 0,
                policed_packets: 0,
                policed_bytes: 0,
            },
            next: 0,
        }
    }

    /// When a packet of `bytes` may leave. A flow takes one turn at a time, so the flows of a tenant
    /// that have something to send go in turn, and one that has nothing leaves its share to them.
    pub(crate) fn take_turn(&mut self, now: Nanos, bytes: u64) -> Nanos {
        if self.info.cap.is_none() {
            return now;
        }
        let turn = self.next.max(now.saturating_sub(CREDIT));
        self.next = turn + self.time_for(bytes);
        turn
    }

    /// A packet of `bytes` that cannot wait leaves now, and counts. False if turns are taken for too long already.
    pub(crate) fn take_now(&mut self, now: Nanos, bytes: u64) -> bool {
        let fits = self.take_turn_before(now, now + BURST, bytes);
        match fits {
            true => self.info.bytes_sent += bytes,
            false => {
                self.info.policed_packets += 1;
                self.info.policed_bytes += bytes;
            }
        }
        fits
    }

    fn take_turn_before(&mut self, now: Nanos, latest: Nanos, bytes: u64) -> bool {
        let fits = self.info.cap.is_none() || self.next <= latest;
        if fits {
            self.take_turn(now, bytes);
        }
        fits
    }

    /// How long the cap makes `bytes` last, ns.
    pub(crate) fn time_for(&self, bytes: u64) -> Nanos {
        let time = |cap| (bytes * 1_000_000_000).checked_div(cap);
        self.info.cap.and_then(time).unwrap_or(0)
    }
}

/// The accounts for `tenants`: those of the same name go on.
pub(crate) fn open(tenants: &[Tenant], before: &[Account]) -> Vec<Account> {
    let account = |tenant: &Tenant| {
        let known = before.iter().find(|a| a.info.name == tenant.name);
        let mut account = known
            .cloned()
            .unwrap_or_else(|| Account::new(tenant.clone()));
        account.info.cap = tenant.cap;
        account
    };
    tenants.iter().map(account).collect()
}

/// By the number of a tenant before, its number after.
pub(crate) fn renamed(before: &[Account], after: &[Account]) -> Vec<Option<TenantId>> {
    let number = |old: &Account| {
        let found = after.iter().position(|new| new.info.name == old.info.name);
        found.map(|index| TenantId(index as u16))
    };
    before.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(cap: Option<u64>) -> Account {
        let tenant = Tenant {
            name: "blue".to_owned(),
            cap,
            senders: Vec::new(),
            bounds: Bounds::default(),
        };
        Account::new(tenant)
    }

    #[test]
    fn turns_are_as_far_apart_as_the_cap_wants() {
        let mut blue = account(Some(1_000_000));
        let start = 5 * MILLISECOND;
        let turns: Vec<Nanos> = (0..4).map(|_| blue.take_turn(start, 1000)).collect();
        assert_eq!(turns, [4, 5, 6, 7].map(|ms| ms * MILLISECOND));
        // What was not used is not saved up.
        assert_eq!(blue.take_turn(start * 100, 1000), 499 * MILLISECOND);
    }

    /// 1 MB/s: ten packets of 1,000 bytes fit into 10 ms, and what the cap carries after that.
    #[test]
    fn what_cannot_wait_is_kept_to_the_cap() {
        let (mut capped, mut free) = (account(Some(1_000_000)), account(None));
        let start = 5 * MILLISECOND;
        let at_once = (0..100).filter(|_| capped.take_now(start, 1000)).count();
        assert!((11..=13).contains(&at_once), "{at_once}");
        let mut later = 0;
        for ms in 1..=1000 {
            later += (0..5)
                .filter(|_| capped.take_now(start + ms * MILLISECOND, 1000))
                .count();
        }
        assert!((995..=1005).contains(&later), "{later} packets in a second");
        assert_eq!(capped.info.bytes_sent, (at_once + later) as u64 * 1000);
        assert!((0..100).all(|_| free.take_now(start, 1000)));
    }

    #[test]
    fn without_a_cap_it_is_always_ones_turn() {
        let mut blue = account(None);
        assert_eq!(blue.take_turn(7, 1 << 40), 7);
        assert_eq!(blue.take_turn(7, 1 << 40), 7);
    }

    #[test]
    fn accounts_go_on_by_name() {
        let mut before = vec![account(Some(5))];
        before[0].info.bytes_sent = 9;
        let green = Tenant {
            name: "green".to_owned(),
            cap: None,
            senders: Vec::new(),
            bounds: Bounds::default(),
        };
        let blue = Tenant {
            name: "blue".to_owned(),
            cap: Some(7),
            senders: Vec::new(),
            bounds: Bounds::default(),
        };
        let after = open(&[green, blue], &before);
        assert_eq!((after[0].info.bytes_sent, after[1].info.bytes_sent), (0, 9));
        assert_eq!(after[1].info.cap, Some(7));
    }

    #[test]
    fn a_sender_is_the_first_tenants_that_has_it() {
        let tenant = |name: &str, first: [u8; 4], bits: u32, non_tcp| Tenant {
            name: name.to_owned(),
            cap: Some(5),
            senders: vec![Senders {
                first: std::net::Ipv4Addr::from(first).into(),
                bits: 96 + bits,
            }],
            bounds: Bounds {
                non_tcp,
                unknown_tcp: false,
            },
        };
        let tenants = [
            tenant("part", [10, 1, 0, 0], 16, false),
            tenant("all", [10, 0, 0, 0], 8, true),
        ];
        let bounded = Bounded::of(&tenants);
        let owner = |addr: [u8; 4], counts: fn(Bounds) -> bool| {
            bounded.tenant_of(std::net::Ipv4Addr::from(addr).into(), counts)
        };
        let of = |addr| owner(addr, |bounds| bounds.non_tcp);
        assert_eq!(of([10, 1, 2, 3]), None);
        assert_eq!(of([10, 2, 2, 3]), Some(TenantId(1)));
        assert_eq!(of([11, 2, 2, 3]), None);
        assert_eq!(owner([10, 2, 2, 3], |bounds| bounds.unknown_tcp), None);
        assert_eq!(bounded.senders().count(), 1);
        assert!(Bounded::of(&tenants[..1]).is_empty());
        let every_v6 = Senders {
            first: Addr(0),
            bits: 0,
        };
        assert!(every_v6.contain(Addr(1 << 120)));
        assert!(!every_v6.contain(std::net::Ipv4Addr::from([10, 1, 2, 3]).into()));
    }
}
