//! `tls-server-end-point` (RFC 5929): the hash of a certificate by the hash function of its signature.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// Identifiers of signature algorithms, in DER, and their hash functions. MD5 and SHA-1 count as SHA-256.
const ALGORITHMS: [(&[u8], HashFunction); 9] = [
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", HashFunction::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", HashFunction::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", HashFunction::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", HashFunction::Sha384),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", HashFunction::Sha512),
    (b"\x2a\x86\x48\xce\x3d\x04\x01", HashFunction::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", HashFunction::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", HashFunction::Sha384),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", HashFunction::Sha512),
];

#[derive(Debug, Clone, Copy)]
enum HashFunction {
    Sha256,
    Sha384,
    Sha512,
}

/// Returns the hash, or `None` if the signature has no separate hash function, as with Ed25519. Channel binding is not
/// possible then.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let identifier = signature_algorithm(certificate)?;
    let (_, function) = ALGORITHMS.into_iter().find(|(known, _)| *known == identifier)?;
    Some(match function {
        HashFunction::Sha256 => Sha256::digest(certificate).to_vec(),
        HashFunction::Sha384 => Sha384::digest(certificate).to_vec(),
        HashFunction::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// `Certificate ::= SEQUENCE { tbsCertificate, SEQUENCE { OBJECT IDENTIFIER, ... }, ... }`
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    element(algorithm, OBJECT_IDENTIFIER).map(|(identifier, _)| identifier)
}

/// The content of the first DER element, and the bytes after it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        short @ 0..=0x7f => (usize::from(*short), rest),
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    if *first == tag { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate of which only the outline is valid.
    fn outline(identifier: &[u8]) -> Vec<u8> {
        let sequence = |content: &[u8]| [&[0x30, 0x81, content.len() as u8], content].concat();
        let algorithm = sequence(&[&[6, identifier.len() as u8], identifier].concat());
        sequence(&[sequence(&[1; 100]), algorithm].concat())
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (identifier, length) in [(ALGORITHMS[2].0, 32), (ALGORITHMS[1].0, 32), (ALGORITHMS[7].0, 48)] {
            let certificate = outline(identifier);
            assert_eq!(end_point(&certificate).map(|hash| hash.len()), Some(length));
        }
        assert_eq!(end_point(&outline(ALGORITHMS[3].0)).unwrap(), Sha384::digest(outline(ALGORITHMS[3].0)).to_vec());
        assert_eq!(end_point(&outline(b"\x2b\x65\x70")), None, "Ed25519");
    }

    #[test]
    fn no_truncated_certificate_panics() {
        let whole = outline(ALGORITHMS[2].0);
        for end in 0..whole.len() {
            assert_eq!(end_point(&whole[..end]), None);
        }
        assert_eq!(end_point(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
