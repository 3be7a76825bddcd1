//! `atsdb serve`: a store made available to other programs until the process is asked to end.

use crate::args::ServeArgs;
use crate::console::{failure, interrupt};
use crate::session::settings::{self, Access, OpenTime};
use atsdb::duration::parse_duration;
use atsdb::{Error, Result};
use atsdb_server::{Drained, Listening, Server, ServerOptions};
use std::io::Write;
use std::sync::mpsc::channel;

/// Serves.
pub(super) fn run(args: &ServeArgs) -> Result<()> {
    let drain = parse_duration(&args.drain).map_err(|error: Error| error.context("--drain"))?;
    let address = |text: &String| Some(text.clone()).filter(|address| address != "off");
    let options = ServerOptions {
        pg: address(&args.pg),
        http: address(&args.http),
        connections_max: args.connections,
        ..ServerOptions::default()
    };
    // Before a store is created.
    let listening = Listening::open(options)?;
    let access = if args.read_only { Access::Read } else { Access::Create };
    let database = settings::open_for(OpenTime::Long, &args.url, access, &args.store, Some(&args.write))?;
    let (stop, stopped) = channel();
    let _watch = interrupt::Watch::new(move || {
        let _ = stop.send(());
    });
    let server = Server::start(database, listening)?;
    announce(&server);
    // Ends with the signal, as the watch holds the only sender.
    let _ = stopped.recv();
    match server.shutdown(drain)? {
        Drained::Everything => {}
        Drained::Cancelled => failure::warn(&format!("what still ran after {} was cancelled", args.drain)),
    }
    Ok(())
}

/// A line for each address. Nobody may be reading.
fn announce(server: &Server) {
    let mut stdout = std::io::stdout().lock();
    if let Some(address) = server.pg_address() {
        let _ = writeln!(stdout, "postgresql://{address}");
    }
    if let Some(address) = server.http_address() {
        let _ = writeln!(stdout, "http://{address}");
    }
    let _ = stdout.flush();
}
