//! `atsdb serve`: makes stores available to other programs until the process is stopped.

use crate::args::ServeArgs;
use crate::console::{failure, interrupt};
use crate::session::served_stores::{ServedStore, served_stores};
use crate::session::settings::{self, Access, OpenTime};
use atsdb::duration::parse_duration;
use atsdb::{Error, ErrorKind, Result};
use atsdb_server::{
    DatabaseSource, Drained, Listening, LogOptions, Role, RoleLimits, Server, ServerOptions, StatementOptions,
    TlsOptions,
};
use std::io::Write;
use std::sync::mpsc::channel;

/// Runs the server.
pub(super) fn run(args: &ServeArgs) -> Result<()> {
    let drain = parse_duration(&args.drain).map_err(|error: Error| error.context("--drain"))?;
    let options = server_options(args)?;
    let stores = served_stores(&args.url)?;
    // The addresses are opened before a store is created.
    let listening = Listening::open(options)?;
    if listening.is_outside() {
        require_stores(args, &stores)?;
    }
    let sources = sources(args, stores)?;
    let (stop, stopped) = channel();
    let _watch = interrupt::Watch::new(move || {
        let _ = stop.send(());
    });
    let server = Server::start_all(sources, listening)?;
    let reloader = server.reloader();
    // The result is logged.
    let _reloading = interrupt::OnHangup::new(move || drop(reloader.reload()));
    announce(&server, args.tls_cert.is_some());
    // Returns at the signal, because the watch then drops the only sender.
    let _ = stopped.recv();
    match server.shutdown(drain)? {
        Drained::Everything => {}
        Drained::Cancelled => failure::warn(&format!("work that was still running after {} was cancelled", args.drain)),
    }
    Ok(())
}

/// What the flags say.
fn server_options(args: &ServeArgs) -> Result<ServerOptions> {
    let address = |text: &String| Some(text.clone()).filter(|address| address != "off");
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsOptions { certificate: certificate.clone(), key: key.clone() }),
        (None, None) => None,
        (Some(_), None) => return Err(Error::usage("--tls-cert needs --tls-key, the certificate's private key")),
        (None, Some(_)) => return Err(Error::usage("--tls-key needs --tls-cert, the certificate of the key")),
    };
    let slow = args.log_slow.as_deref().map(parse_duration).transpose();
    let slow = slow.map_err(|error: Error| error.context("--log-slow"))?;
    let options = ServerOptions {
        tls,
        pg: address(&args.pg),
        http: address(&args.http),
        grpc: address(&args.grpc),
        connections_max: args.connections,
        statements: statement_options(args)?,
        traces: args.traces.clone(),
        log: LogOptions { level: args.log_level, format: args.log, slow },
        ..ServerOptions::default()
    };
    if options.pg.is_none() && options.http.is_none() && options.grpc.is_none() {
        return Err(Error::usage("--pg, --http and --grpc are all off: no client could connect")
            .with_hint("give at least one of them an address, such as --http 127.0.0.1:8086"));
    }
    Ok(options)
}

/// The limits of statements, of all roles and of each.
fn statement_options(args: &ServeArgs) -> Result<StatementOptions> {
    let time_limit = args.statement_timeout.as_deref().map(parse_duration).transpose();
    let time_limit = time_limit.map_err(|error: Error| error.context("--statement-timeout"))?;
    let mut statements = StatementOptions {
        memory_bytes: settings::memory_bytes(&args.store)?,
        temp_bytes: settings::temp_bytes(&args.store)?,
        running_max: args.statements,
        time_limit,
        ..StatementOptions::default()
    };
    for_each_role("--role-statements", args.role_statements.as_deref(), |role, text| {
        let count = text.parse::<usize>().ok().filter(|count| *count > 0);
        let count = count.ok_or_else(|| Error::usage(format!("{text:?} is not a number of statements")))?;
        limits_of(&mut statements, role).running_max = Some(count);
        Ok(())
    })?;
    for_each_role("--role-timeout", args.role_timeout.as_deref(), |role, text| {
        limits_of(&mut statements, role).time_limit = Some(parse_duration(text)?);
        Ok(())
    })?;
    Ok(statements)
}

/// Refuses stores that do not exist: such a store has no users, and is not created just to find that out.
fn require_stores(args: &ServeArgs, stores: &[ServedStore]) -> Result<()> {
    for store in stores {
        match settings::open(&store.url, Access::Read, &args.store, None) {
            // One of several that cannot be opened now is tried again.
            Err(error) if stores.len() == 1 || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Usage) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Calls for each role of a flag such as `read=16,write=32`, with the text after it.
fn for_each_role(flag: &str, text: Option<&str>, mut call: impl FnMut(Role, &str) -> Result<()>) -> Result<()> {
    for part in text.into_iter().flat_map(|text| text.split(',')) {
        let limited = match part.split_once('=') {
            Some((role, value)) => Role::parse(role.trim()).and_then(|role| call(role, value.trim())),
            None => Err(Error::usage(format!("{part:?} has no = after a role")).with_hint("write it like read=16")),
        };
        limited.map_err(|error: Error| error.context(flag))?;
    }
    Ok(())
}

fn limits_of(statements: &mut StatementOptions, role: Role) -> &mut RoleLimits {
    match role {
        Role::Read => &mut statements.read,
        Role::Write => &mut statements.write,
        Role::Admin => &mut statements.admin,
    }
}

/// The databases to serve. A single one without a name is opened here, so that its error is that of the command.
fn sources(args: &ServeArgs, stores: Vec<ServedStore>) -> Result<Vec<DatabaseSource>> {
    let access = if args.read_only { Access::Read } else { Access::Create };
    let source = |ServedStore { name, url }: ServedStore| {
        let (store, write) = (args.store.clone(), args.write.clone());
        let open = move || settings::open_for(OpenTime::Long, &url, access, &store, Some(&write));
        match name {
            Some(name) => DatabaseSource::named(name, open),
            None => open().map(DatabaseSource::unnamed),
        }
    };
    stores.into_iter().map(source).collect()
}

/// Prints a line for each address. Errors are ignored, because the output may be closed.
fn announce(server: &Server, has_tls: bool) {
    let mut stdout = std::io::stdout().lock();
    if let Some(address) = server.pg_address() {
        let _ = writeln!(stdout, "postgresql://{address}");
    }
    if let Some(address) = server.http_address() {
        let _ = writeln!(stdout, "{}://{address}", if has_tls { "https" } else { "http" });
    }
    if let Some(address) = server.grpc_address() {
        let _ = writeln!(stdout, "{}://{address}", if has_tls { "grpc+tls" } else { "grpc" });
    }
    let _ = stdout.flush();
}
