//! The entry point of the fuzz target for SCRAM.

use super::scram::{Exchange, PLAIN, PLUS};
use super::verifier::Verifier;

/// Reads the messages of an exchange by SCRAM, each a line. Panics if one logs in.
pub fn read_scram(bytes: &[u8]) {
    let (first, last) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &b""[..]),
    };
    for (mechanism, end_point) in [(PLAIN, None), (PLAIN, Some(b"end".as_slice())), (PLUS, Some(b"end".as_slice()))] {
        let verifier = Verifier::of_nobody("nobody", &[7; 32]);
        let begun = Exchange::begin(mechanism, first, end_point, verifier).expect("random numbers");
        let Ok(exchange) = begun else { continue };
        // The message of a client that knows the nonce.
        let nonce = exchange.server_first().split(',').next().unwrap_or_default().to_owned();
        let last = String::from_utf8_lossy(last).replace("r=", &nonce);
        assert!(exchange.finish(last.as_bytes()).is_err(), "a wrong password logs in");
    }
}
