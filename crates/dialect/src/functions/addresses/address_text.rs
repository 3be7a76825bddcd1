//! Texts of addresses, as PostgreSQL reads and writes them. They are read by hand, because PostgreSQL also takes the
//! length of a network, and networks without their last bytes.

use super::address::{AddressFamily, NetworkAddress};
use crate::functions::base::text_types::AddressType;
use atsdb_core::Error;
use std::net::Ipv6Addr;

/// Reads an address as a type; the error says how the text is wrong.
pub(crate) fn read(text: &str, of: AddressType) -> Result<NetworkAddress, Error> {
    let address = match of {
        AddressType::Inet => parse_inet(text),
        AddressType::Cidr => parse_cidr(text),
    };
    let Some(address) = address else {
        let error = Error::invalid(format!("invalid input syntax for type {}: \"{text:.60}\"", of.name()));
        return Err(error.with_hint("write '10.1.2.3', '10.0.0.0/8', '::1' or '2001:db8::/32'"));
    };
    if of == AddressType::Cidr && address.has_host_bits() {
        let error = Error::invalid(format!("invalid cidr value: \"{text:.60}\""));
        return Err(error.with_hint("bits are set to the right of the mask: cast the text to INET, and that to CIDR"));
    }
    Ok(address)
}

/// The text of a value of a type. A `cidr` always has the length of its mask, an `inet` only with a mask.
pub(crate) fn written(address: NetworkAddress, of: AddressType) -> String {
    match of {
        AddressType::Inet if address.mask_length == address.family.bits() => host(address),
        _ => with_mask(address),
    }
}

/// The address and the length of its mask.
pub(crate) fn with_mask(address: NetworkAddress) -> String {
    format!("{}/{}", host(address), address.mask_length)
}

/// The address without its mask.
pub(crate) fn host(address: NetworkAddress) -> String {
    let bytes = NetworkAddress::bytes(address.family, address.value);
    match address.family {
        AddressFamily::V4 => decimal_bytes(&bytes),
        AddressFamily::V6 => {
            let words = words_of(&bytes);
            match longest_zeros(&words, 2) {
                Some((0, 6)) => format!("::{}", decimal_bytes(&bytes[12..])),
                Some((0, 5)) if words[5] == 0xffff => format!("::ffff:{}", decimal_bytes(&bytes[12..])),
                zeros => compressed(&words, zeros),
            }
        }
    }
}

/// The shortest text of a `cidr`, without the bytes or words at its end that the mask leaves out. `None` for networks
/// of addresses of IPv4 within IPv6.
pub(crate) fn abbreviated(address: NetworkAddress) -> Option<String> {
    let length = usize::from(address.mask_length);
    let bytes = NetworkAddress::bytes(address.family, address.network().value);
    let shown = match address.family {
        AddressFamily::V4 => decimal_bytes(&bytes[..length.div_ceil(8).max(1)]),
        AddressFamily::V6 if length == 128 || bytes.iter().all(|byte| *byte == 0) => host(address.network()),
        AddressFamily::V6 => {
            let words = words_of(&bytes);
            if words[..5].iter().all(|word| *word == 0) {
                return None;
            }
            let words = &words[..length.div_ceil(16).max(2)];
            compressed(words, longest_zeros(words, 1))
        }
    };
    Some(format!("{shown}/{length}"))
}

fn words_of(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
}

fn decimal_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(".")
}

/// The first of the longest runs of at least this many zeros: its start and its length.
fn longest_zeros(words: &[u16], least: usize) -> Option<(usize, usize)> {
    let mut longest: Option<(usize, usize)> = None;
    let mut at = 0;
    while at < words.len() {
        let count = words[at..].iter().take_while(|word| **word == 0).count();
        if count >= least && longest.is_none_or(|(_, length)| count > length) {
            longest = Some((at, count));
        }
        at += count.max(1);
    }
    longest
}

/// Words in hexadecimal digits, with `::` in the place of zeros.
fn compressed(words: &[u16], zeros: Option<(usize, usize)>) -> String {
    let joined = |words: &[u16]| words.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(":");
    match zeros {
        Some((start, count)) => {
            format!("{}::{}", joined(&words[..start]), joined(&words[start + count..]))
        }
        None => joined(words),
    }
}

/// An address as `inet` has it: all bytes, or as many as its mask needs.
pub(crate) fn parse_inet(text: &str) -> Option<NetworkAddress> {
    if text.contains(':') {
        return parse_v6(text);
    }
    let (bytes, length) = v4_parts(text)?;
    let mask_length = match length {
        Some(length) => length,
        None if bytes.len() == 4 => 32,
        None => return None,
    };
    (usize::from(mask_length / 8) <= bytes.len()).then_some(v4(&bytes, mask_length))
}

/// An address as `cidr` has it: without a mask, the bytes that are written are the network, and at least those of its
/// class.
fn parse_cidr(text: &str) -> Option<NetworkAddress> {
    if text.contains(':') {
        return parse_v6(text);
    }
    let (bytes, length) = v4_parts(text)?;
    let written = u8::try_from(bytes.len() * 8).ok()?;
    let of_class = match bytes[0] {
        240.. => 32,
        224..=239 => 8,
        192..=223 => 24,
        128..=191 => 16,
        _ => 8,
    };
    let mask_length = match length {
        Some(length) => length,
        None if bytes[0] == 224 && written == 8 => 4,
        None => written.max(of_class),
    };
    Some(v4(&bytes, mask_length))
}

fn v4(bytes: &[u8], mask_length: u8) -> NetworkAddress {
    let value = (0..4).fold(0, |value: u128, at| (value << 8) | u128::from(bytes.get(at).copied().unwrap_or_default()));
    NetworkAddress { family: AddressFamily::V4, value, mask_length }
}

/// The one to four bytes of an address, and the length of its mask if it is written.
fn v4_parts(text: &str) -> Option<(Vec<u8>, Option<u8>)> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(number(length, 32)?)),
        None => (text, None),
    };
    let bytes = address.split('.').map(|byte| number(byte, 255)).collect::<Option<Vec<u8>>>()?;
    (bytes.len() <= 4).then_some((bytes, length))
}

fn parse_v6(text: &str) -> Option<NetworkAddress> {
    let (address, mask_length) = match text.split_once('/') {
        Some((_, length)) if length.len() > 1 && length.starts_with('0') => return None,
        Some((address, length)) => (address, number(length, 128)?),
        None => (text, 128),
    };
    let value = address.parse::<Ipv6Addr>().ok()?.to_bits();
    Some(NetworkAddress { family: AddressFamily::V6, value, mask_length })
}

/// Digits alone, as a number that is not too large.
fn number(digits: &str, most: u8) -> Option<u8> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = digits.parse::<u64>().ok().filter(|_| is_number)?;
    u8::try_from(value).ok().filter(|value| *value <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_one_text() {
        for (text, expected) in [
            ("10.1.2.3", Some("10.1.2.3")),
            ("10.1.2.3/32", Some("10.1.2.3")),
            ("010.001.2.3/8", Some("10.1.2.3/8")),
            ("10.1/16", Some("10.1.0.0/16")),
            ("10/8", Some("10.0.0.0/8")),
            ("10.1/24", None),
            ("10.1", None),
            ("10.1.2.3/33", None),
            ("10.1.2.256", None),
            ("10.1.2.3.4", None),
            (" 10.1.2.3", None),
            ("10.1.2.3/", None),
            ("", None),
            ("::1", Some("::1")),
            ("0:0:0:0:0:0:0:1/128", Some("::1")),
            ("::", Some("::")),
            ("1::", Some("1::")),
            ("::2", Some("::2")),
            ("::FFFF:1.2.3.4", Some("::ffff:1.2.3.4")),
            ("::1.2.3.4", Some("::1.2.3.4")),
            ("::102:304", Some("::1.2.3.4")),
            ("2001:DB8:0:0:1:0:0:1", Some("2001:db8::1:0:0:1")),
            ("2001:db8:0:1:1:1:1:1", Some("2001:db8:0:1:1:1:1:1")),
            ("2001:db8::/32", Some("2001:db8::/32")),
            ("::/129", None),
            ("::1/08", None),
            (":::", None),
        ] {
            let found = parse_inet(text).map(|address| written(address, AddressType::Inet));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_network_without_a_mask_has_that_of_its_class() {
        for (text, expected) in [
            ("10", "10.0.0.0/8"),
            ("10.1", "10.1.0.0/16"),
            ("192.168.1", "192.168.1.0/24"),
            ("192.168", "192.168.0.0/24"),
            ("128.1", "128.1.0.0/16"),
            ("224", "224.0.0.0/4"),
            ("225", "225.0.0.0/8"),
            ("250.1", "250.1.0.0/32"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("192.168.100.128/25", "192.168.100.128/25"),
            ("2001:4f8:3:ba::/64", "2001:4f8:3:ba::/64"),
            ("::1", "::1/128"),
        ] {
            assert_eq!(written(read(text, AddressType::Cidr).unwrap(), AddressType::Cidr), expected, "{text}");
        }
        for text in ["10.1.2.3/8", "2001:db8::1/64", "x", "10.", "10/8/8"] {
            assert!(read(text, AddressType::Cidr).is_err(), "{text}");
        }
    }

    #[test]
    fn networks_are_abbreviated() {
        for (text, expected) in [
            ("10.1.0.0/16", "10.1/16"),
            ("10.0.0.0/8", "10/8"),
            ("0.0.0.0/0", "0/0"),
            ("192.168.100.128/25", "192.168.100.128/25"),
            ("10.1.2.3/32", "10.1.2.3/32"),
            ("2001:db8::/32", "2001:db8/32"),
            ("::/0", "::/0"),
            ("::/8", "::/8"),
            ("10:23::8000/113", "10:23::8000/113"),
            ("::ffff:1.2.3.4/128", "::ffff:1.2.3.4/128"),
        ] {
            let found = abbreviated(read(text, AddressType::Cidr).unwrap());
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
    }
}
