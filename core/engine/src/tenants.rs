//! Who the flows belong to: what a tenant may send in all, and what it has sent.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, MILLISECOND, Nanos};

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
    /// Packets beyond the shown edge that were dropped.
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
        self.info.bytes_sent += if fits { bytes } else { 0 };
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
pub(crate) fn open(tenants: Vec<Tenant>, before: &[Account]) -> Vec<Account> {
    let account = |tenant: Tenant| {
        let known = before.iter().find(|a| a.info.name == tenant.name);
        let mut account = known
            .cloned()
            .unwrap_or_else(|| Account::new(tenant.clone()));
        account.info.cap = tenant.cap;
        account
    };
    tenants.into_iter().map(account).collect()
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
        };
        let blue = Tenant {
            name: "blue".to_owned(),
            cap: Some(7),
        };
        let after = open(vec![green, blue], &before);
        assert_eq!((after[0].info.bytes_sent, after[1].info.bytes_sent), (0, 9));
        assert_eq!(after[1].info.cap, Some(7));
    }
}
