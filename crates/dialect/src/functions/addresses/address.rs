//! An address of IPv4 or IPv6 with the length of its network's mask, and PostgreSQL's arithmetic of them.

use crate::text::datafusion_errors::external;
use atsdb_core::Error;
use datafusion::common::{DataFusionError, Result};

/// The version of the protocol that an address is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressFamily {
    V4,
    V6,
}

impl AddressFamily {
    /// 4 or 6.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }

    /// The number of bits of an address.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    /// All bits of an address.
    fn all(self) -> u128 {
        match self {
            Self::V4 => u128::from(u32::MAX),
            Self::V6 => u128::MAX,
        }
    }
}

/// An address. Its bits are the lowest ones of `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NetworkAddress {
    pub(crate) family: AddressFamily,
    pub(crate) value: u128,
    /// The number of bits that name the network.
    pub(crate) mask_length: u8,
}

impl NetworkAddress {
    /// The bits that name the host within the network, all set.
    fn host_bits(self) -> u128 {
        self.family.all().checked_shr(u32::from(self.mask_length)).unwrap_or(0)
    }

    /// The bits that name the network, all set.
    fn network_bits(self) -> u128 {
        self.family.all() & !self.host_bits()
    }

    /// The address as the only one of its network.
    fn alone(self, value: u128) -> Self {
        Self { value, mask_length: self.family.bits(), ..self }
    }

    /// The bytes of an address, the most significant one first.
    pub(crate) fn bytes(family: AddressFamily, value: u128) -> Vec<u8> {
        let width = usize::from(family.bits() / 8);
        value.to_be_bytes()[16 - width..].to_vec()
    }

    /// Bytes in the order of addresses: IPv4 before IPv6, then by network, by the length of the mask, and by host.
    pub(crate) fn key(self) -> Vec<u8> {
        let mut key = vec![self.family.number()];
        key.extend(Self::bytes(self.family, self.network().value));
        key.push(self.mask_length);
        key.extend(Self::bytes(self.family, self.value));
        key
    }

    /// The address with a [key](Self::key).
    pub(crate) fn of_key(key: &[u8]) -> Option<Self> {
        let (family, width) = match key.first()? {
            4 => (AddressFamily::V4, 4),
            _ => (AddressFamily::V6, 16),
        };
        let mask_length = *key.get(1 + width)?;
        let bytes = key.get(2 + width..)?;
        let value = bytes.iter().fold(0, |value: u128, byte| (value << 8) | u128::from(*byte));
        Some(Self { family, value, mask_length })
    }

    /// Returns whether any host bit is set.
    pub(crate) fn has_host_bits(self) -> bool {
        self.value & self.host_bits() != 0
    }

    pub(crate) fn network(self) -> Self {
        Self { value: self.value & self.network_bits(), ..self }
    }

    pub(crate) fn broadcast(self) -> Self {
        Self { value: self.value | self.host_bits(), ..self }
    }

    pub(crate) fn netmask(self) -> Self {
        self.alone(self.network_bits())
    }

    pub(crate) fn hostmask(self) -> Self {
        self.alone(self.host_bits())
    }

    /// The address with another length of the mask; -1 is that of a single address.
    pub(crate) fn with_mask_length(self, length: i64) -> Result<Self> {
        let most = self.family.bits();
        let mask_length = if length == -1 { Some(most) } else { u8::try_from(length).ok() };
        match mask_length.filter(|length| *length <= most) {
            Some(mask_length) => Ok(Self { mask_length, ..self }),
            None => Err(refused(
                format!("invalid mask length: {length}"),
                "an IPv4 mask has 0 to 32 bits, an IPv6 mask 0 to 128",
            )),
        }
    }

    /// Returns whether the first bits are those of another address of the same family.
    fn begins_as(self, other: Self, bits: u8) -> bool {
        let of = Self { mask_length: bits, ..self };
        self.family == other.family && (self.value ^ other.value) & of.network_bits() == 0
    }

    /// Returns whether the network lies in another one, or is the same.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.mask_length >= other.mask_length && self.begins_as(other, other.mask_length)
    }

    /// Returns whether the network lies in another one, which is greater.
    pub(crate) fn is_strictly_within(self, other: Self) -> bool {
        self.mask_length > other.mask_length && self.is_within(other)
    }

    /// Returns whether one of the two networks contains the other.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.begins_as(other, self.mask_length.min(other.mask_length))
    }

    /// The smallest network that two networks lie in.
    pub(crate) fn merged(self, other: Self) -> Result<Self> {
        if self.family != other.family {
            return Err(refused(
                "cannot merge addresses from different families",
                "merge addresses of one version of IP",
            ));
        }
        let unused = 128 - u32::from(self.family.bits());
        let common = (self.value ^ other.value).leading_zeros() - unused;
        let common = u8::try_from(common).unwrap_or(u8::MAX);
        let mask_length = common.min(self.mask_length).min(other.mask_length);
        Ok(Self { mask_length, ..self }.network())
    }

    /// `~`.
    pub(crate) fn inverse(self) -> Self {
        Self { value: self.value ^ self.family.all(), ..self }
    }

    /// `&` or `|`.
    pub(crate) fn combined(self, other: Self, name: &str, combine: fn(u128, u128) -> u128) -> Result<Self> {
        if self.family != other.family {
            let message = format!("cannot {name} inet values of different sizes");
            return Err(refused(message, "use addresses of one version of IP"));
        }
        let mask_length = self.mask_length.max(other.mask_length);
        Ok(Self { value: combine(self.value, other.value), mask_length, ..self })
    }

    /// The address that is this many later, or earlier.
    pub(crate) fn moved(self, by: i64, is_earlier: bool) -> Result<Self> {
        let count = u128::from(by.unsigned_abs());
        let value = match (by < 0) != is_earlier {
            true => self.value.checked_sub(count),
            false => self.value.checked_add(count).filter(|value| *value <= self.family.all()),
        };
        value.map(|value| Self { value, ..self }).ok_or_else(out_of_range)
    }

    /// Returns the number of addresses by which this one is after another.
    pub(crate) fn minus(self, other: Self) -> Result<i64> {
        if self.family != other.family {
            let message = "cannot subtract inet values of different sizes";
            return Err(refused(message, "use addresses of one version of IP"));
        }
        let distance = i128::try_from(self.value.abs_diff(other.value)).ok();
        let signed = distance.map(|distance| if self.value < other.value { -distance } else { distance });
        signed.and_then(|count| i64::try_from(count).ok()).ok_or_else(out_of_range)
    }
}

fn out_of_range() -> DataFusionError {
    refused("result is out of range", "no address and no BIGINT is that far away")
}

fn refused(message: impl Into<String>, hint: &str) -> DataFusionError {
    external(Error::invalid(message).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::super::address_text::parse_inet;
    use super::*;

    fn of(text: &str) -> NetworkAddress {
        parse_inet(text).unwrap()
    }

    #[test]
    fn keys_have_the_order_of_addresses_and_name_them() {
        let sorted = [
            "0.0.0.0/0",
            "9.0.0.0/8",
            "10.0.0.0/8",
            "10.1.2.3/8",
            "10.0.0.0/16",
            "10.0.0.1",
            "10.1.0.0/16",
            "100.0.0.1",
            "::/0",
            "::1",
            "2001:db8::/32",
            "ffff::",
        ];
        let keys: Vec<Vec<u8>> = sorted.iter().map(|text| of(text).key()).collect();
        assert!(keys.is_sorted());
        assert!(keys.iter().zip(sorted).all(|(key, text)| NetworkAddress::of_key(key) == Some(of(text))));
    }

    #[test]
    fn networks_contain_the_networks_with_their_first_bits() {
        let within = |inner: &str, outer: &str| of(inner).is_within(of(outer));
        assert!(within("10.1.2.3", "10.0.0.0/8") && within("10.0.0.0/8", "10.0.0.0/8") && within("::1", "::/0"));
        assert!(
            !within("10.0.0.0/8", "10.0.0.0/16") && !within("10.0.0.1", "::/0") && !within("11.0.0.1", "10.0.0.0/8")
        );
        assert!(!of("10.0.0.0/8").is_strictly_within(of("10.0.0.0/8")));
        assert!(of("10.0.0.0/8").overlaps(of("10.1.0.0/16")) && !of("10.0.0.0/16").overlaps(of("10.1.0.0/16")));
    }

    #[test]
    fn addresses_are_counted_within_their_family() {
        assert_eq!(of("192.168.1.6").moved(25, false).unwrap(), of("192.168.1.31"));
        assert_eq!(of("192.168.1.0/24").moved(1, true).unwrap(), of("192.168.0.255/24"));
        assert!(of("255.255.255.255").moved(1, false).is_err() && of("::").moved(1, true).is_err());
        assert_eq!(of("::").moved(-1, true).unwrap(), of("::1"));
        assert_eq!(of("192.168.1.43").minus(of("192.168.1.19")).unwrap(), 24);
        assert_eq!(of("::").minus(of("::7fff:ffff:ffff:ffff")).unwrap(), -i64::MAX);
        assert!(of("ffff::").minus(of("::1")).is_err() && of("::1").minus(of("0.0.0.1")).is_err());
        assert_eq!(of("192.168.1.5/24").merged(of("192.168.2.5/24")).unwrap(), of("192.168.0.0/22"));
        assert_eq!(of("0.0.0.0").merged(of("255.0.0.0")).unwrap(), of("0.0.0.0/0"));
        assert_eq!(of("::1").merged(of("::1")).unwrap(), of("::1"));
    }
}
