//! Authenticates a client by SCRAM-SHA-256, in SASL frames.

use super::io::Io;
use crate::access::authenticate::{Refusal, UNVERIFIABLE};
use crate::access::caller::{Caller, Peer};
use crate::access::scram::{Exchange, ScramError, mechanisms};
use crate::access::state::Access;
use crate::pg::error::{Failure, PgError};
use crate::pg::wire::fields::Fields;
use crate::pg::wire::incoming::{self, Incoming};

/// The SQLSTATE of a wrong password and of a user that does not exist.
pub(super) const WRONG_PASSWORD: &str = "28P01";

/// Authenticates a client that claims to be `user`, by the users of a database. `end_point` is the hash of the
/// certificate on an encrypted connection.
pub(super) async fn authenticate(
    io: &mut Io,
    user: &str,
    peer: Peer,
    access: &Access,
    end_point: Option<&[u8]>,
) -> Result<Caller, Failure> {
    if let Some(anybody) = access.anybody(peer) {
        return Ok(anybody);
    }
    io.out.sasl(mechanisms(end_point));
    io.send().await?;
    let response = secret(io).await?;
    let (mechanism, first) = initial(&response)?;
    let begun = Exchange::begin(mechanism, first, end_point, access.verifier(user))?;
    let exchange = begun.map_err(|error| failed(error, user))?;
    io.out.sasl_continue(exchange.server_first());
    io.send().await?;
    let last = secret(io).await?;
    access.hold(Some(user), peer).await.map_err(refused)?;
    // A user may have been dropped in the meantime.
    let finished = exchange.finish(&last).and_then(|last| Ok((last, access.role_of(user).ok_or(ScramError::Wrong)?)));
    match finished {
        Ok((last, role)) => {
            access.note(Some(user), peer, true);
            io.out.sasl_final(&last);
            Ok(Caller { user: Some(user.into()), role })
        }
        Err(error) => {
            access.note(Some(user), peer, false);
            Err(failed(error, user).into())
        }
    }
}

/// Reads the next message, which must be a step of SASL, because other messages may be larger than an unauthenticated
/// client may send.
async fn secret(io: &mut Io) -> Result<Vec<u8>, Failure> {
    loop {
        match incoming::head(io.buffered())? {
            Some((b'X', _)) => return Err(Failure::Gone),
            Some((kind, _)) if kind != b'p' => {
                let message = format!("expected SASL response, got message type {kind}");
                return Err(PgError::protocol(message).into());
            }
            _ => {}
        }
        match io.take()? {
            Some(Incoming::Secret(message)) => return Ok(message),
            Some(_) => return Err(PgError::protocol("expected SASL response").into()),
            None => io.fill().await?,
        }
    }
}

/// The mechanism and the first message.
fn initial(response: &[u8]) -> Result<(&str, &[u8]), PgError> {
    let mut fields = Fields::new(response);
    let (mechanism, message) = (fields.text()?, fields.value()?);
    fields.end()?;
    Ok((mechanism, message.ok_or_else(|| PgError::protocol("the first SASL response is empty"))?))
}

fn failed(error: ScramError, user: &str) -> PgError {
    match error {
        ScramError::Wrong => {
            PgError::fatal(WRONG_PASSWORD, format!("password authentication failed for user \"{user}\""))
        }
        ScramError::Binding(message) => PgError::fatal("28000", message),
        ScramError::NotSupported(message) => PgError::fatal("0A000", message),
        ScramError::Malformed(message) => {
            PgError { detail: Some(message.into()), ..PgError::protocol("malformed SCRAM message") }
        }
    }
}

pub(super) fn refused(refusal: Refusal) -> PgError {
    match refusal {
        Refusal::TooMany(wait) => PgError::fatal("28000", "too many attempts with wrong passwords")
            .with_hint(format!("retry in {} seconds", wait.as_secs() + 1)),
        Refusal::Missing | Refusal::Wrong => PgError::fatal(WRONG_PASSWORD, "password authentication failed"),
        Refusal::Unverifiable => PgError::fatal("57P03", UNVERIFIABLE),
    }
}
