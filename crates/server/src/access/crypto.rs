//! Hashes, random bits, and comparing secrets.

use atsdb::{Environment, Result, SystemEnvironment, hex};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub(super) type Hash = [u8; 32];

pub(super) fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> Hash {
    let mut mac = keyed(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// PBKDF2 with HMAC-SHA-256, one block: `Hi` of RFC 5802.
pub(super) fn stretched(password: &[u8], salt: &[u8], iterations: u32) -> Hash {
    let keyed = keyed(password);
    let round = |parts: &[&[u8]]| -> Hash {
        let mut mac = keyed.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    };
    let mut last = round(&[salt, &1_u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..iterations {
        last = round(&[&last]);
        all.iter_mut().zip(last).for_each(|(byte, other)| *byte ^= other);
    }
    all
}

/// Returns whether two secrets are equal. The time it takes does not reveal where they differ.
pub(super) fn same_secret(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && std::hint::black_box(difference(one, other)) == 0
}

fn difference(one: &[u8], other: &[u8]) -> u8 {
    one.iter().zip(other).fold(0, |found, (one, other)| std::hint::black_box(found | (one ^ other)))
}

pub(super) fn random_16() -> Result<[u8; 16]> {
    SystemEnvironment.random()
}

pub(super) fn random_32() -> Result<[u8; 32]> {
    let mut bits = [0; 32];
    bits[..16].copy_from_slice(&random_16()?);
    bits[16..].copy_from_slice(&random_16()?);
    Ok(bits)
}

/// Reads 32 bytes in hexadecimal.
pub(super) fn hash_of_hexadecimal(text: &str) -> Option<Hash> {
    hex::decode(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // RFC 7914, section 11.
        let stretched = stretched(b"passwd", b"salt", 1);
        assert_eq!(hex::encode(&stretched), "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc");
        // RFC 4231, case 2.
        let mac = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex::encode(&mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn secrets_are_compared_whole() {
        assert!(same_secret(b"", b"") && same_secret(b"abc", b"abc"));
        assert!(!same_secret(b"abc", b"abd") && !same_secret(b"abc", b"ab") && !same_secret(b"abc", b"Abc"));
    }

    #[test]
    fn hexadecimal_goes_both_ways() {
        let hash = sha256(b"x");
        assert_eq!(hash_of_hexadecimal(&hex::encode(&hash)), Some(hash));
        for wrong in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(hash_of_hexadecimal(wrong), None);
        }
    }
}
