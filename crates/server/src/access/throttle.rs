//! Delays after failed attempts to log in, by address and by user. Each key has a time before which no attempt is
//! checked for it. An attempt takes the next free time, so that simultaneous attempts are checked one after the other.
//! A user who has recently logged in from an address is slowed only by failures of the same user from the same address,
//! so that nobody can lock others out.

use super::caller::Peer;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The number of failures that are not delayed, because people mistype.
const FREE_FAILURES: u32 = 3;
/// The first delay, which doubles with each failure.
const DELAY_FIRST: Duration = Duration::from_millis(250);
const DELAY_MAX: Duration = Duration::from_secs(10);
/// The maximum time that an attempt waits. One that would have to wait for longer is refused at once.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Failures are forgotten after this time without another one.
const MEMORY: Duration = Duration::from_secs(15 * 60);
/// The time for which a user who has logged in is known at that address.
const KNOWN_TIME: Duration = Duration::from_secs(3_600);
/// The maximum number of remembered keys, for failures and for known users.
const KEYS_MAX: usize = 10_000;

/// The part of an address that is used. For IPv6 it is the network, since one machine has many addresses in it.
type Network = [u8; 8];

/// The keys by which failures are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Address(Network),
    User(String),
    Both(Network, String),
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
    next: Instant,
}

/// The recent failures.
#[derive(Debug, Default)]
pub(super) struct Throttle(Mutex<ThrottleState>);

#[derive(Debug, Default)]
struct ThrottleState {
    failures: BTreeMap<Key, Failures>,
    known: BTreeMap<Key, Instant>,
}

impl Throttle {
    /// Returns how long an attempt must wait until it is checked. The error is how long no attempt is checked.
    pub(super) fn wait(&self, peer: Peer, user: Option<&str>, now: Instant) -> Result<Duration, Duration> {
        let mut state = self.0.lock();
        let keys = state.keys(peer, user, now);
        let busy = keys.iter().filter_map(|key| state.failures.get(key)).map(|failures| failures.next);
        let at = busy.max().map_or(now, |next| next.max(now));
        let wait = at - now;
        if wait > WAIT_MAX {
            return Err(wait);
        }
        for key in &keys {
            if let Some(failures) = state.failures.get_mut(key) {
                failures.next = failures.next.max(at + delay(failures.count));
            }
        }
        Ok(wait)
    }

    pub(super) fn failed(&self, peer: Peer, user: Option<&str>, now: Instant) {
        let mut state = self.0.lock();
        let both = user.map(|user| both(peer, user));
        let keys = [Some(Key::Address(network(peer))), user.map(|user| Key::User(short(user))), both];
        for key in keys.into_iter().flatten() {
            state.make_room(now);
            let failures = state.failures.entry(key).or_insert(Failures { count: 0, last: now, next: now });
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
            failures.next = failures.next.max(now + delay(failures.count));
        }
    }

    pub(super) fn succeeded(&self, peer: Peer, user: &str, now: Instant) {
        let mut state = self.0.lock();
        let key = both(peer, user);
        state.failures.remove(&key);
        state.known.insert(key, now);
        if state.known.len() > KEYS_MAX {
            state.known.retain(|_, at| now - *at < KNOWN_TIME);
            let oldest = state.known.iter().min_by_key(|(_, at)| **at).map(|(key, _)| key.clone());
            oldest.filter(|_| state.known.len() > KEYS_MAX).map(|key| state.known.remove(&key));
        }
    }
}

impl ThrottleState {
    fn keys(&mut self, peer: Peer, user: Option<&str>, now: Instant) -> Vec<Key> {
        let address = Key::Address(network(peer));
        let Some(user) = user else { return vec![address] };
        let both = both(peer, user);
        match self.known.get(&both).is_some_and(|at| now - *at < KNOWN_TIME) {
            true => vec![both],
            false => vec![address, Key::User(short(user)), both],
        }
    }

    fn make_room(&mut self, now: Instant) {
        if self.failures.len() < KEYS_MAX {
            return;
        }
        self.failures.retain(|_, failures| now - failures.last < MEMORY);
        if self.failures.len() >= KEYS_MAX {
            let oldest = self.failures.iter().min_by_key(|(_, failures)| (failures.count, failures.last));
            oldest.map(|(key, _)| key.clone()).map(|key| self.failures.remove(&key));
        }
    }
}

fn delay(failures: u32) -> Duration {
    match failures.checked_sub(FREE_FAILURES) {
        None => Duration::ZERO,
        Some(more) => DELAY_FIRST.saturating_mul(1 << more.min(10)).min(DELAY_MAX),
    }
}

fn both(peer: Peer, user: &str) -> Key {
    Key::Both(network(peer), short(user))
}

/// A name cut to the maximum length of user names, because clients send names of any length.
fn short(user: &str) -> String {
    user.chars().take(64).collect()
}

fn network(peer: Peer) -> Network {
    match peer.address {
        IpAddr::V4(address) => {
            let mut network = [0; 8];
            network[4..].copy_from_slice(&address.octets());
            network
        }
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => network(Peer { address: IpAddr::V4(address), ..peer }),
            None => {
                let mut network = [0; 8];
                network.copy_from_slice(&address.octets()[..8]);
                network
            }
        },
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a moment to count from")]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer { address: address.parse().unwrap(), is_local: false }
    }

    #[test]
    fn delays_grow_and_end() {
        let (throttle, now, peer) = (Throttle::default(), Instant::now(), peer("192.0.2.1"));
        let mut waited = Vec::new();
        let mut at = now;
        for _ in 0..8 {
            let wait = throttle.wait(peer, Some("me"), at).unwrap();
            waited.push(wait.as_millis());
            at += wait;
            throttle.failed(peer, Some("me"), at);
        }
        assert_eq!(waited, [0, 0, 0, 250, 500, 1_000, 2_000, 4_000]);
        // A successful login resets the delay of this user at this address, and no other delay.
        throttle.succeeded(peer, "me", at);
        assert_eq!(throttle.wait(peer, Some("me"), at), Ok(Duration::ZERO));
        assert!(throttle.wait(peer, Some("you"), at).unwrap() > Duration::ZERO, "the address is slow");
        let elsewhere = super::tests::peer("198.51.100.1");
        assert!(throttle.wait(elsewhere, Some("me"), at).unwrap() > Duration::ZERO, "the user is slow");
        assert_eq!(throttle.wait(elsewhere, Some("you"), at), Ok(Duration::ZERO));
    }

    #[test]
    fn attempts_at_once_are_checked_one_after_the_other() {
        let (throttle, now, peer) = (Throttle::default(), Instant::now(), peer("2001:db8::1"));
        (0..6).for_each(|_| throttle.failed(peer, Some("me"), now));
        let waits: Vec<_> = (0..8).map(|_| throttle.wait(peer, Some("me"), now)).collect();
        let seconds: Vec<u64> = waits.iter().flatten().map(Duration::as_secs).collect();
        assert_eq!(seconds, [2, 4, 6, 8, 10]);
        assert!(waits[5..].iter().all(Result::is_err));
        // The same network.
        assert!(throttle.wait(self::peer("2001:db8::2"), Some("you"), now).is_err());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        (0..20).for_each(|_| throttle.failed(peer("192.0.2.1"), Some("me"), now));
        for count in 0..2 * KEYS_MAX {
            throttle.failed(peer("192.0.2.2"), Some(&format!("user {count}")), now);
        }
        assert!(throttle.0.lock().failures.len() <= KEYS_MAX);
        assert!(throttle.wait(peer("192.0.2.1"), None, now).is_ok_and(|wait| !wait.is_zero()), "many failures stay");
        let later = now + MEMORY;
        throttle.failed(peer("192.0.2.3"), None, later);
        assert!(throttle.0.lock().failures.len() < 3);
    }
}
