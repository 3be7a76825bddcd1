//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side: messages as PostgreSQL exchanges them, without their frames.
//! It is written by hand, because postgres-protocol has the client's side alone.

use super::crypto::{Hash, hmac, random_16, same_secret, sha256};
use super::verifier::Verifier;
use atsdb::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The mechanism without channel binding, and with it.
pub(crate) const PLAIN: &str = "SCRAM-SHA-256";
pub(crate) const PLUS: &str = "SCRAM-SHA-256-PLUS";

/// The longest message of a client.
const MESSAGE_BYTES_MAX: usize = 8_192;

/// The reason why an exchange has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScramError {
    /// It is not a SCRAM message.
    Malformed(&'static str),
    /// It requests something that the server does not support.
    NotSupported(&'static str),
    /// The channel binding is wrong: there is a man in the middle, or the client is mistaken.
    Binding(&'static str),
    /// The password is wrong.
    Wrong,
}

/// An exchange whose first message has been answered.
pub(crate) struct Exchange {
    verifier: Verifier,
    /// The part of its first message and of the channel that the client must repeat.
    binding: Vec<u8>,
    nonce: String,
    client_first: String,
    server_first: String,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exchange")
    }
}

/// The mechanisms that are offered. `end_point` is the hash of the server's certificate on a connection with TLS.
pub(crate) fn mechanisms(end_point: Option<&[u8]>) -> &'static [&'static str] {
    match end_point {
        Some(_) => &[PLUS, PLAIN],
        None => &[PLAIN],
    }
}

impl Exchange {
    /// Reads the client's first message. The inner error is the client's, the outer one the server's.
    pub(crate) fn begin(
        mechanism: &str,
        message: &[u8],
        end_point: Option<&[u8]>,
        verifier: Verifier,
    ) -> Result<std::result::Result<Self, ScramError>> {
        let nonce = STANDARD.encode([random_16()?.as_slice(), &random_16()?[..2]].concat());
        Ok(Self::begin_with(mechanism, message, end_point, verifier, &nonce))
    }

    fn begin_with(
        mechanism: &str,
        message: &[u8],
        end_point: Option<&[u8]>,
        verifier: Verifier,
        server_nonce: &str,
    ) -> std::result::Result<Self, ScramError> {
        let is_plus_offered = end_point.is_some();
        let has_plus = mechanism == PLUS;
        let end_point = end_point.filter(|_| has_plus);
        if (has_plus && end_point.is_none()) || (!has_plus && mechanism != PLAIN) {
            return Err(ScramError::Malformed("client selected an invalid SASL authentication mechanism"));
        }
        let message = text_of(message)?;
        let (flag, rest) = message.split_once(',').ok_or(ScramError::Malformed("the first message has no header"))?;
        let (identity, bare) = rest.split_once(',').ok_or(ScramError::Malformed("the first message has no header"))?;
        check_flag(flag, has_plus, is_plus_offered)?;
        if !identity.is_empty() {
            return Err(ScramError::NotSupported("client uses authorization identity, but it is not supported"));
        }
        let mut attributes = bare.split(',');
        let user = attributes.next().unwrap_or_default();
        if user.starts_with("m=") {
            return Err(ScramError::NotSupported("client requires an unsupported SCRAM extension"));
        }
        if !user.starts_with("n=") {
            return Err(ScramError::Malformed("the first message has no user"));
        }
        let nonce = attributes.next().and_then(|attribute| attribute.strip_prefix("r="));
        let nonce = nonce.filter(|nonce| !nonce.is_empty() && nonce.bytes().all(|byte| byte.is_ascii_graphic()));
        let nonce = nonce.ok_or(ScramError::Malformed("the first message has no nonce"))?;
        let nonce = format!("{nonce}{server_nonce}");
        let server_first = format!("r={nonce},s={},i={}", STANDARD.encode(&verifier.salt), verifier.iterations);
        let binding = [format!("{flag},,").as_bytes(), end_point.unwrap_or_default()].concat();
        Ok(Self { verifier, binding, nonce, client_first: bare.to_owned(), server_first })
    }

    /// The answer to the client's first message.
    pub(crate) fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Reads the client's last message, and returns the answer, which proves to the client that the server knows the
    /// verifier.
    pub(crate) fn finish(self, message: &[u8]) -> std::result::Result<String, ScramError> {
        let message = text_of(message)?;
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or(ScramError::Malformed("the last message has no proof"))?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|attribute| attribute.strip_prefix("c="));
        let binding = binding.and_then(|binding| STANDARD.decode(binding).ok());
        let binding = binding.ok_or(ScramError::Malformed("the last message has no channel binding"))?;
        let nonce = attributes.next().and_then(|attribute| attribute.strip_prefix("r="));
        let nonce = nonce.ok_or(ScramError::Malformed("the last message has no nonce"))?;
        let proof = STANDARD.decode(proof).ok().and_then(|proof| Hash::try_from(proof.as_slice()).ok());
        let proof = proof.ok_or(ScramError::Malformed("the last message has no proof"))?;
        if !same_secret(&binding, &self.binding) {
            return Err(ScramError::Binding("SCRAM channel binding check failed"));
        }
        if !same_secret(nonce.as_bytes(), self.nonce.as_bytes()) {
            return Err(ScramError::Malformed("the nonce does not match"));
        }
        let (first, second) = (self.client_first.as_bytes(), self.server_first.as_bytes());
        let parts: [&[u8]; 5] = [first, b",", second, b",", without_proof.as_bytes()];
        let signature = hmac(&self.verifier.stored_key, &parts);
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(byte, other)| *byte ^= other);
        match same_secret(&sha256(&client_key), &self.verifier.stored_key) {
            true => Ok(format!("v={}", STANDARD.encode(hmac(&self.verifier.server_key, &parts)))),
            false => Err(ScramError::Wrong),
        }
    }
}

fn check_flag(flag: &str, has_plus: bool, is_plus_offered: bool) -> std::result::Result<(), ScramError> {
    match (flag, has_plus) {
        ("p=tls-server-end-point", true) | ("n", false) => Ok(()),
        // A man in the middle has removed the offer.
        ("y", false) if is_plus_offered => Err(ScramError::Binding(
            "the client supports SCRAM channel binding but thinks the server does not: this server does",
        )),
        ("y", false) => Ok(()),
        ("n" | "y", true) => {
            Err(ScramError::Malformed("client selected SCRAM-SHA-256-PLUS without channel binding data"))
        }
        (flag, _) if flag.starts_with("p=") => Err(ScramError::Binding("unsupported SCRAM channel-binding type")),
        _ => Err(ScramError::Malformed("unexpected channel-binding flag")),
    }
}

fn text_of(message: &[u8]) -> std::result::Result<&str, ScramError> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(ScramError::Malformed("a message is too long"));
    }
    std::str::from_utf8(message).map_err(|_| ScramError::Malformed("a message is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    fn verifier() -> Verifier {
        let keys = "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        Verifier::parse(&format!("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==${keys}")).unwrap()
    }

    fn begin(mechanism: &str, first: &[u8], end_point: Option<&[u8]>) -> std::result::Result<Exchange, ScramError> {
        Exchange::begin_with(mechanism, first, end_point, verifier(), SERVER_NONCE)
    }

    /// The example of RFC 7677.
    #[test]
    fn the_exchange_of_the_standard() {
        let exchange = begin(PLAIN, CLIENT_FIRST, None).unwrap();
        let first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(exchange.server_first(), first);
        let last = exchange.finish(CLIENT_FINAL.as_bytes()).unwrap();
        assert_eq!(last, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn wrong_proofs_nonces_and_bindings_are_refused() {
        let finish = |last: &str| begin(PLAIN, CLIENT_FIRST, None).unwrap().finish(last.as_bytes());
        assert_eq!(finish(&CLIENT_FINAL.replace("p=dH", "p=eH")), Err(ScramError::Wrong));
        // An attribute that is not in what was signed.
        assert_eq!(finish(&CLIENT_FINAL.replace(",p=", ",x=1,p=")), Err(ScramError::Wrong));
        assert!(matches!(finish(&CLIENT_FINAL.replace("rOpr", "rOpq")), Err(ScramError::Malformed(_))));
        assert!(matches!(finish(&CLIENT_FINAL.replace("biws", "eSws")), Err(ScramError::Binding(_))));
        assert!(matches!(finish(&CLIENT_FINAL.replace("p=dHzb", "p=")), Err(ScramError::Malformed(_))));
        assert!(matches!(finish(&format!("{CLIENT_FINAL}{}", "=".repeat(9_000))), Err(ScramError::Malformed(_))));
    }

    #[test]
    fn channel_binding_cannot_be_talked_away() {
        let hash: Option<&[u8]> = Some(&[9; 32]);
        let first = |flag: &str| format!("{flag},,n=,r=abc").into_bytes();
        assert!(begin(PLAIN, &first("n"), hash).is_ok() && begin(PLAIN, &first("y"), None).is_ok());
        assert!(begin(PLUS, &first("p=tls-server-end-point"), hash).is_ok());
        // The client supports binding, and a man in the middle claimed that the server does not.
        assert!(matches!(begin(PLAIN, &first("y"), hash), Err(ScramError::Binding(_))));
        assert!(matches!(begin(PLUS, &first("p=tls-unique"), hash), Err(ScramError::Binding(_))));
        for (mechanism, flag, end_point) in
            [(PLUS, "n", hash), (PLUS, "y", hash), (PLUS, "p=tls-server-end-point", None), ("SCRAM-SHA-1", "n", None)]
        {
            let found = begin(mechanism, &first(flag), end_point);
            assert!(matches!(found, Err(ScramError::Malformed(_))), "{mechanism} {flag}");
        }
        // The hash of another certificate.
        let header = |hash: &[u8]| STANDARD.encode([b"p=tls-server-end-point,,", hash].concat());
        let exchange = begin(PLUS, &first("p=tls-server-end-point"), hash).unwrap();
        let last = format!("c={},r=abc{SERVER_NONCE},p={}", header(&[8; 32]), STANDARD.encode([0; 32]));
        assert!(matches!(exchange.finish(last.as_bytes()), Err(ScramError::Binding(_))));
        let exchange = begin(PLUS, &first("p=tls-server-end-point"), hash).unwrap();
        let last = format!("c={},r=abc{SERVER_NONCE},p={}", header(&[9; 32]), STANDARD.encode([0; 32]));
        assert_eq!(exchange.finish(last.as_bytes()), Err(ScramError::Wrong));
    }

    #[test]
    fn what_is_not_supported_is_said() {
        assert!(matches!(begin(PLAIN, b"n,a=x,n=,r=a", None), Err(ScramError::NotSupported(_))));
        assert!(matches!(begin(PLAIN, b"n,,m=x,n=,r=a", None), Err(ScramError::NotSupported(_))));
        for first in
            [&b""[..], b"n", b"n,", b"n,,", b"n,,n=", b"n,,n=,r=", b"n,,n=,r=\x01", b"x,,n=,r=a", b"\xff,,n=,r=a"]
        {
            assert!(matches!(begin(PLAIN, first, None), Err(ScramError::Malformed(_))), "{first:?}");
        }
    }

    #[test]
    fn hostile_messages_never_panic() {
        let mut state = 3_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let plus = b"p=tls-server-end-point,,n=,r=rOprNGfwEbeRWgbNEkqO".to_vec();
        let mut finished = 0;
        for _ in 0..20_000 {
            let (mechanism, whole) =
                if next() % 2 == 0 { (PLAIN, CLIENT_FIRST.to_vec()) } else { (PLUS, plus.clone()) };
            let (mut first, mut last) = (whole, CLIENT_FINAL.as_bytes().to_vec());
            for message in [&mut first, &mut last] {
                for _ in 0..next() % 3 {
                    let at = next() as usize % message.len();
                    message[at] = next() as u8;
                }
                message.truncate(message.len() - next() as usize % 4 * (next() as usize % 8));
            }
            if let Ok(exchange) = begin(mechanism, &first, Some(&[9; 32])) {
                finished += u32::from(exchange.finish(&last).is_ok());
            }
            let noise: Vec<u8> = (0..next() % 40).map(|_| next() as u8).collect();
            assert!(begin(PLAIN, &noise, None).is_err());
            assert!(begin(PLAIN, CLIENT_FIRST, None).unwrap().finish(&noise).is_err());
        }
        assert!(finished > 20, "{finished} exchanges were whole");
    }
}
