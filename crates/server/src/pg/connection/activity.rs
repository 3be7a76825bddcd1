//! The activity of connections for the catalogue: that of the connection itself and, as far as its user may see it,
//! that of others. Users see and end their own statements and sessions, admins all of their database.

use super::bind::{Portal, Progress};
use super::session::Connection;
use crate::access::role::Role;
use crate::databases::list::OpenDatabase;
use crate::pg::catalogue::activity::{Activity, Backend, CursorEntry, DatabaseEntry, PreparedEntry};
use crate::pg::error::PgError;
use crate::pg::types::input::Format;
use crate::shared::clock;

impl Connection {
    fn may_see(&self, user: Option<&str>) -> bool {
        self.caller.role == Role::Admin || user == Some(&self.user)
    }

    /// All sessions of the database, and its statements without one.
    fn all_backends(&self) -> Vec<Backend> {
        let (statements, now_ns) = (self.state.running().list(), clock::wall_ns());
        let since =
            |elapsed: std::time::Duration| now_ns.saturating_sub(i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX));
        let sessions = self.sessions.list(&self.database_name);
        let of_session = |process| sessions.iter().any(|session| session.process == process);
        let others = statements.iter().filter(|statement| !of_session(statement.process)).map(|statement| Backend {
            process: statement.process,
            user: statement.user.clone(),
            application: statement.protocol.to_owned(),
            address: None,
            started_ns: None,
            idle: None,
            running: Some((statement.text.clone(), since(statement.elapsed))),
        });
        let mut backends: Vec<Backend> = others.collect();
        backends.extend(sessions.into_iter().map(|session| {
            let running = statements.iter().find(|statement| statement.process == session.process);
            Backend {
                process: session.process,
                user: Some(session.user),
                application: session.present.application,
                address: Some(session.address),
                started_ns: Some(session.started_ns),
                idle: Some((session.present.transaction, session.present.since_ns)),
                running: running.map(|statement| (statement.text.clone(), since(statement.elapsed))),
            }
        }));
        backends.sort_by_key(|backend| backend.process);
        backends
    }

    /// Returns whether there is a process that the user may end.
    fn may_end(&self, process: i32, what: &str) -> Result<bool, PgError> {
        let backends = self.all_backends();
        let Some(backend) = backends.iter().find(|backend| backend.process == process) else { return Ok(false) };
        match self.may_see(backend.user.as_deref()) {
            true => Ok(true),
            false => Err(PgError::error("42501", format!("permission denied to {what}"))
                .with_hint("only the role admin may end sessions and statements of other users")),
        }
    }
}

impl Activity for Connection {
    fn prepared_statements(&self) -> Vec<PreparedEntry> {
        // The unnamed statement is not listed, as in PostgreSQL.
        let named = self.statements.iter().filter(|(name, _)| !name.is_empty());
        let entry = |(name, statement): (&String, &std::sync::Arc<super::bind::PreparedStatement>)| PreparedEntry {
            name: name.clone(),
            text: statement.prepare.as_ref().unwrap_or(&statement.text).clone(),
            prepared_ns: statement.prepared_ns,
            parameter_types: statement.parameter_types.clone(),
            is_from_sql: statement.prepare.is_some(),
        };
        named.map(entry).collect()
    }

    fn cursors(&self) -> Vec<CursorEntry> {
        // The unnamed portal is not listed, as in PostgreSQL.
        let named = self.portals.iter().filter(|(name, _)| !name.is_empty());
        let entry = |(name, portal): (&String, &Portal)| CursorEntry {
            name: name.clone(),
            text: portal.statement.text.clone(),
            created_ns: portal.created_ns,
            is_holdable: matches!(&portal.progress, Progress::Cursor(cursor) if cursor.is_holdable),
            is_scrollable: matches!(&portal.progress, Progress::Cursor(cursor) if cursor.is_scrollable),
            is_binary: matches!(portal.progress, Progress::Cursor(_)) && portal.formats.contains(&Format::Binary),
        };
        named.map(entry).collect()
    }

    fn started_ns(&self) -> i64 {
        self.state.started_ns()
    }

    fn databases(&self) -> Vec<DatabaseEntry> {
        let entry = |database: &OpenDatabase| {
            let is_own = database.number() == self.database.number();
            let name = if is_own { self.database_name.as_str() } else { database.name() };
            DatabaseEntry { number: database.number(), name: name.to_owned(), is_own }
        };
        self.databases.visible(&self.caller, &self.database, self.peer).iter().map(entry).collect()
    }

    fn backends(&self) -> Vec<Backend> {
        let mut backends = self.all_backends();
        backends.retain(|backend| self.may_see(backend.user.as_deref()));
        backends
    }

    fn export_snapshot(&self) -> Result<String, PgError> {
        let mut exported = self.exported.lock();
        if let Some(exported) = exported.as_ref() {
            return Ok(exported.name.clone());
        }
        let Some(snapshot) = self.session.export_snapshot()? else {
            let error = PgError::error("25P01", "pg_export_snapshot() can only be used in transaction blocks");
            return Err(error.with_hint("BEGIN first"));
        };
        let made = self.snapshots.export(self.key.process, self.database.number(), snapshot);
        Ok(exported.insert(made).name.clone())
    }

    fn cancel(&self, process: i32) -> Result<bool, PgError> {
        let is_there = self.may_end(process, "cancel query")?;
        if is_there {
            self.state.running().cancel_process(process);
        }
        Ok(is_there)
    }

    fn terminate(&self, process: i32) -> Result<bool, PgError> {
        let is_there = self.may_end(process, "terminate process")?;
        if is_there && !self.sessions.terminate(process) {
            self.state.running().cancel_process(process);
        }
        Ok(is_there)
    }
}
