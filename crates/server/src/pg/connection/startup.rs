//! The start of a connection: its purpose, its user, and its initial settings.

use super::authenticate::{WRONG_PASSWORD, authenticate, refused};
use super::block::Block;
use super::deadline::Deadline;
use super::io::{Io, Stream};
use super::session::Connection;
use crate::access::authenticate::Refusal;
use crate::access::caller::{Caller, Peer};
use crate::access::role::Role;
use crate::databases::known_caller::names;
use crate::databases::list::{Choice, OpenDatabase};
use crate::pg::error::{Failure, PgError};
use crate::pg::sessions::SessionOwner;
use crate::pg::settings::{Settings, written_duration};
use crate::pg::shared::PgShared;
use crate::pg::store::StoreSession;
use crate::pg::wire::outgoing::TransactionStatus;
use crate::pg::wire::startup::{self, Startup};
use crate::tls::identity::Identity;
use atsdb::{Environment, SystemEnvironment};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The maximum time that a client may take to log in.
const STARTUP_TIME_MAX: Duration = Duration::from_secs(30);

/// The maximum number of requests for encryption that a client may make before it continues without.
const REQUESTS_MAX: usize = 3;

/// The user of a client, and its initial settings.
struct Client {
    user: String,
    database: OpenDatabase,
    /// The name of the database that it has given.
    database_name: String,
    parameters: Vec<(String, String)>,
    caller: Caller,
    peer: Peer,
    is_encrypted: bool,
    /// The generation of the users with which it was authenticated.
    generation: u64,
}

/// Begins a session; `None` if the connection had another purpose.
pub(super) async fn begin(
    stream: Box<dyn Stream>,
    peer: Peer,
    shared: &Arc<PgShared>,
    has_place: bool,
) -> Option<Box<Connection>> {
    let mut io = Io::new(stream, shared.server.phase(), &shared.memory, shared.ingest.read_time_max);
    let begun = tokio::time::timeout(STARTUP_TIME_MAX, introduced(&mut io, peer, shared, has_place)).await;
    let client = match begun {
        Ok(Ok(Some(client))) => client,
        Ok(Ok(None)) | Ok(Err(Failure::Gone)) | Err(_) => return None,
        Ok(Err(Failure::Error(error))) => return refuse(io, error).await,
    };
    let shared = Arc::clone(shared);
    let opened = tokio::task::spawn_blocking(move || open(io, client, &shared)).await.ok()?;
    match opened {
        Ok(connection) => Some(connection),
        Err(refused) => {
            let (io, error) = *refused;
            refuse(io, error).await
        }
    }
}

/// Reads the first packet and authenticates the client.
async fn introduced(io: &mut Io, peer: Peer, shared: &PgShared, has_place: bool) -> Result<Option<Client>, Failure> {
    let mut identity = None;
    let Some(parameters) = first_packet(io, shared, &mut identity).await? else { return Ok(None) };
    if !has_place {
        return Err(PgError::fatal("53300", "sorry, too many clients already").into());
    }
    let is_encrypted = identity.is_some();
    if !peer.is_local && !is_encrypted {
        let error = PgError::fatal("28000", "no encryption: this address accepts only connections with TLS");
        return Err(error.with_hint("connect with sslmode=require, or better verify-full").into());
    }
    let last = |wanted: &str| parameters.iter().rfind(|(name, value)| name == wanted && !value.is_empty());
    let user = last("user").map(|(_, user)| user.clone());
    let user = user.ok_or_else(|| PgError::fatal("28000", "no PostgreSQL user name specified in startup packet"))?;
    let database_name = last("database").map_or_else(|| user.clone(), |(_, name)| name.clone());
    let end_point = identity.as_ref().and_then(|identity| identity.end_point());
    let database = match shared.databases.choose(Some(&database_name)) {
        Choice::Open(database) => database.clone(),
        Choice::Unavailable(name) => {
            let detail = Some("Its store cannot be opened. The server's log says why.".into());
            let message = format!("database \"{name}\" is not available");
            let error = PgError { detail, ..PgError::fatal("57P03", message) };
            return Err(without_database(io, &user, error, peer, shared, end_point).await);
        }
        Choice::Unknown(_) | Choice::NotNamed => {
            let error = PgError::fatal("3D000", format!("database \"{database_name}\" does not exist"));
            return Err(without_database(io, &user, error, peer, shared, end_point).await);
        }
    };
    // This is read before the user is looked up, so that a later change is noticed.
    let generation = database.access.generation();
    let caller = authenticate(io, &user, peer, &database.access, end_point).await?;
    Ok(Some(Client { user, database, database_name, parameters, caller, peer, is_encrypted, generation }))
}

/// Refuses a client that wants a database that does not exist or is not open. As in PostgreSQL, it must log in to learn
/// that.
async fn without_database(
    io: &mut Io,
    user: &str,
    error: PgError,
    peer: Peer,
    shared: &PgShared,
    end_point: Option<&[u8]>,
) -> Failure {
    let databases = &shared.databases;
    let authority = databases.authority(|access| access.role_of(user).is_some(), peer);
    let Some(authority) = authority else { return error.into() };
    match authenticate(io, user, peer, &authority.access, end_point).await {
        Ok(caller) => {
            let there = names(&databases.visible(&caller, authority, peer));
            error.with_hint(format!("available: {there}")).into()
        }
        Err(Failure::Error(wrong)) if wrong.code == WRONG_PASSWORD && !databases.are_all_open() => {
            refused(Refusal::Unverifiable).into()
        }
        Err(failure) => failure,
    }
}

async fn refuse(mut io: Io, mut error: PgError) -> Option<Box<Connection>> {
    error.severity = crate::pg::error::Severity::Fatal;
    io.out.error(&error);
    io.hang_up().await;
    None
}

/// The initial parameters of a session. If the client requests encryption, `identity` is used for it.
async fn first_packet(
    io: &mut Io,
    shared: &PgShared,
    identity: &mut Option<Arc<Identity>>,
) -> Result<Option<Vec<(String, String)>>, Failure> {
    for _ in 0..=REQUESTS_MAX {
        let length = loop {
            match startup::head(io.buffered())? {
                Some(length) if io.buffered().len() >= 4 + length => break length,
                _ => io.fill().await?,
            }
        };
        let packet = startup::read(&io.buffered()[4..4 + length]);
        io.advance(4 + length);
        match packet? {
            Startup::Tls if shared.tls.is_some() && identity.is_none() => {
                let Some(tls) = &shared.tls else { continue };
                let present = identity.insert(tls.identity());
                io.out.byte(b'S');
                io.send().await?;
                io.encrypt(&present.pg()).await?;
            }
            Startup::Tls | Startup::Gss => {
                io.out.byte(b'N');
                io.send().await?;
            }
            Startup::Cancel { process, secret } => {
                shared.sessions.cancel(process, secret);
                return Ok(None);
            }
            Startup::Session { minor, parameters } => {
                let (unknown, known): (Vec<_>, Vec<_>) =
                    parameters.into_iter().partition(|(name, _)| name.starts_with("_pq_."));
                if minor > 0 || !unknown.is_empty() {
                    let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
                    io.out.negotiate(&names);
                }
                return Ok(Some(known));
            }
        }
    }
    Err(PgError::protocol("too many requests for encryption").into())
}

type Refused = Box<(Io, PgError)>;

impl Client {
    /// The settings with which the session begins: those of the user, and those that the client wants.
    fn settings(&self, shared: &PgShared) -> Result<Settings, PgError> {
        let parameters: BTreeMap<&str, &str> =
            self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        if parameters.get("replication").is_some_and(|value| !["off", "false", "no", "0"].contains(value)) {
            return Err(PgError::not_supported("replication"));
        }
        let role = self.caller.role;
        let mut settings = Settings::new(&self.user, shared.port, shared.connections_max);
        settings.fix("is_superuser", if role == Role::Admin { "on" } else { "off" });
        settings.fix("ssl", if self.is_encrypted { "on" } else { "off" });
        if let Some(limit) = self.database.state.statements().time_limit_of(role.permission()) {
            settings.begin_with("statement_timeout", &written_duration(limit))?;
        }
        for (name, value) in parameters {
            match name {
                "user" | "database" | "replication" => {}
                "options" => {
                    for (name, value) in command_line(value)? {
                        settings.begin_with(&name, &value)?;
                    }
                }
                name => settings.begin_with(name, value)?,
            }
        }
        Ok(settings)
    }
}

/// Opens the session of a client, on a thread that may block.
fn open(io: Io, client: Client, shared: &PgShared) -> Result<Box<Connection>, Refused> {
    let begun = || -> Result<_, PgError> {
        let settings = client.settings(shared)?;
        let Client { user, database, database_name, peer, .. } = &client;
        let state = &database.state;
        let session = StoreSession::open(state, user, database_name);
        let bits = SystemEnvironment.random()?;
        let secret = i32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]);
        let owner = SessionOwner { user, database: database_name, address: peer.address };
        let numbers = state.running().processes();
        let key = shared.sessions.register(numbers, secret, &owner, session.interrupt_handle());
        session.set_process(key.process);
        Ok((settings, session, key))
    };
    let (settings, session, key) = match begun() {
        Ok(begun) => begun,
        Err(error) => return Err(Box::new((io, error))),
    };
    let Client { user, database, database_name, caller, peer, generation, .. } = client;
    let state = database.state.clone();
    let metrics = state.metrics();
    let mut io = io;
    io.follow(key.termination());
    let mut connection = Box::new(Connection {
        io,
        state: state.clone(),
        access: database.access.clone(),
        databases: shared.databases.clone(),
        caller,
        peer,
        generation,
        is_restricted: false,
        has_queried: false,
        session,
        settings,
        user,
        database,
        database_name,
        key,
        sessions: shared.sessions.clone(),
        snapshots: shared.snapshots.clone(),
        exported: Mutex::default(),
        block: Block::None,
        deadline: Deadline::default(),
        statements: BTreeMap::new(),
        portals: BTreeMap::new(),
        at_once: None,
        skips_to_sync: false,
        queries: metrics.counter("atsdb_pg_queries_total", "Statements that PostgreSQL clients executed."),
        errors: metrics.counter("atsdb_pg_errors_total", "Errors sent to PostgreSQL clients."),
        copied_rows: metrics.counter("atsdb_pg_copied_rows_total", "Rows that PostgreSQL clients stored by COPY."),
    });
    if let Err(Failure::Error(error)) = connection.follow_search_path() {
        return Err(Box::new((connection.io, error)));
    }
    connection.greet();
    connection.show_state();
    Ok(connection)
}

impl Connection {
    fn greet(&mut self) {
        let out = &mut self.io.out;
        out.authentication_ok();
        for (name, value) in self.settings.reported() {
            out.parameter(name, value);
        }
        out.key_data(self.key.process, self.key.secret);
        out.ready(TransactionStatus::Idle);
    }
}

/// The settings in `-c name=value --name=value`.
fn command_line(text: &str) -> Result<Vec<(String, String)>, PgError> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.extend(letters.next()),
            blank if blank.is_whitespace() => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    let mut settings = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let setting = match (word.as_str(), word.strip_prefix("--"), word.strip_prefix("-c")) {
            ("-c", ..) => words.next().unwrap_or_default(),
            (_, Some(setting), _) => setting.replace('-', "_"),
            (_, _, Some(setting)) => setting.to_owned(),
            _ => {
                return Err(PgError::fatal(
                    "42601",
                    format!("invalid command-line argument for server process: {word}"),
                ));
            }
        };
        let (name, value) =
            setting.split_once('=').ok_or_else(|| PgError::fatal("42601", format!("-c {setting} requires a value")))?;
        settings.push((name.to_owned(), value.to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_on_the_command_line() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let found = command_line("-c search_path=a\\ b  -cjit=off --work-mem=1MB").unwrap();
        assert_eq!(found, [pair("search_path", "a b"), pair("jit", "off"), pair("work_mem", "1MB")]);
        assert!(command_line("-x").is_err() && command_line("-c jit").is_err());
    }
}
