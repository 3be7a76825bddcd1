//! One connection. A thread of the store does its I/O; callers block on the answer, on any thread, including tokio's.
//!
//! Settings and prepared statements belong to a session, and a pooler in between may use a different one for each
//! transaction. So a session is marked when it is set up, and each transaction begins by checking the mark: no
//! transaction runs on a session of another connection.

#![expect(clippy::disallowed_methods, reason = "the time limit of an answer from the network")]

use crate::error::{other_session, silent, translate};
use crate::tls::Tls;
use atsdb_core::Error;
use atsdb_core::parallel::{drop_elsewhere, try_threads};
use atsdb_sqlstore::{Attempt, Cell, Connection, Row, Value, statement_bytes, statement_too_large};
use futures::TryStreamExt;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, coop};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, RowStream, SimpleQueryMessage, Statement};

/// The maximum number of prepared statements of a connection.
const STATEMENTS_KEPT_MAX: usize = 256;
/// The server ends a connection that sends a message of more than a gibibyte.
const STATEMENT_BYTES_MAX: usize = (1 << 30) - (1 << 16);
/// The maximum duration of a login.
const LOGIN_MAX: Duration = Duration::from_secs(20);

/// Marks the session, and deallocates what another client of a pooler may have prepared there. Returns the mark, and
/// whether the server is a standby.
const MARK: &str = "DEALLOCATE ALL;
    SELECT set_config('atsdb.session', concat_ws(' ', random(), clock_timestamp(), pg_backend_pid()), false),
        pg_is_in_recovery()::int";

/// The thread that does the I/O of all connections of a store.
#[derive(Debug)]
pub(crate) struct IoThread(Option<Runtime>);

impl IoThread {
    pub(crate) fn new() -> Result<Self, Error> {
        // tokio panics if it cannot start a thread.
        try_threads(1, None).map_err(Error::no_thread)?;
        let built = Builder::new_multi_thread().worker_threads(1).thread_name("atsdb-postgres").enable_all().build();
        Ok(Self(Some(built.map_err(Error::no_thread)?)))
    }

    fn runtime(&self) -> Option<&Runtime> {
        self.0.as_ref()
    }
}

impl Drop for IoThread {
    #[expect(clippy::disallowed_methods, reason = "no thread can be started that would wait for its threads")]
    fn drop(&mut self) {
        // Waiting for the thread is forbidden on tokio's own threads, where a store may be dropped.
        if let Some(runtime) = self.0.take() {
            drop_elsewhere(runtime, Runtime::shutdown_background);
        }
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an answer, at most `longest`; `None` if there is none in that time. The future does not run as a part of a
/// tokio task, which may only do a limited amount of work before it must yield: the answer would never arrive.
fn wait<T>(answer: impl Future<Output = T>, longest: Option<Duration>) -> Option<T> {
    let waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut answer = pin!(coop::unconstrained(answer));
    let end = longest.and_then(|longest| Instant::now().checked_add(longest));
    loop {
        if let Poll::Ready(done) = answer.as_mut().poll(&mut context) {
            return Some(done);
        }
        match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => return None,
            Some(left) => std::thread::park_timeout(left),
            None => std::thread::park(),
        }
    }
}

/// Waits for an answer, however long that takes.
fn wait_unlimited<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    loop {
        if let Some(done) = wait(answer.as_mut(), None) {
            return done;
        }
    }
}

/// A configured connection.
pub(crate) struct PostgresConnection {
    client: Client,
    /// Ends the connection, even if answers are outstanding.
    abort: AbortHandle,
    /// The mark of the session.
    mark: String,
    is_standby: bool,
    statements: HashMap<String, Statement>,
    answer_max: Duration,
    location: Arc<str>,
    // It is dropped last, since it does the I/O.
    _io_thread: Arc<IoThread>,
}

impl PostgresConnection {
    /// Connects. A later failure of the connection shows in the next answer.
    pub(crate) fn open(
        (config, tls, setup): (&Config, &Tls, &str),
        io_thread: &Arc<IoThread>,
        location: &Arc<str>,
        answer_max: Duration,
    ) -> Attempt<Self> {
        let runtime = io_thread.runtime().ok_or_else(|| Error::internal("the store is closed"))?;
        let config = config.clone();
        let connecting = match tls.connector() {
            None => runtime.spawn(async move {
                let (client, connection) = config.connect(NoTls).await?;
                Ok::<_, tokio_postgres::Error>((client, tokio::spawn(connection).abort_handle()))
            }),
            Some(connector) => runtime.spawn(async move {
                let (client, connection) = config.connect(connector).await?;
                Ok((client, tokio::spawn(connection).abort_handle()))
            }),
        };
        let abort = connecting.abort_handle();
        let longest = answer_max.min(LOGIN_MAX);
        let connected = wait(connecting, Some(longest)).ok_or_else(|| {
            abort.abort();
            silent(location, longest)
        })?;
        let (client, abort) = connected
            .map_err(|error| Error::internal(format!("connecting to {location} ended early: {error}")))?
            .map_err(|error| translate(error, location))?;
        let mut connection = Self {
            client,
            abort,
            mark: String::new(),
            is_standby: false,
            statements: HashMap::new(),
            answer_max,
            location: Arc::clone(location),
            _io_thread: Arc::clone(io_thread),
        };
        connection.set_up(setup)?;
        Ok(connection)
    }

    fn set_up(&mut self, setup: &str) -> Attempt<()> {
        let messages = self.answer(self.client.simple_query(&format!("{setup}; {MARK}")))?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((row.get(0)?.to_owned(), row.get(1)? == "1")),
            _ => None,
        });
        let (mark, is_standby) = row.ok_or_else(|| Error::internal("the server has not set up the session"))?;
        (self.mark, self.is_standby) = (mark, is_standby);
        Ok(())
    }

    /// Waits for an answer. If none comes, the connection is dropped, so that others do not wait for its locks.
    fn answer<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Attempt<T> {
        match wait(answer, Some(self.answer_max)) {
            Some(answer) => answer.map_err(|error| translate(error, &self.location)),
            None => {
                self.abort();
                Err(silent(&self.location, self.answer_max))
            }
        }
    }

    fn prepare(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Statement> {
        let byte_count = statement_bytes(sql, values);
        if byte_count > STATEMENT_BYTES_MAX {
            return Err(statement_too_large(&self.location, byte_count, STATEMENT_BYTES_MAX, "PostgreSQL"));
        }
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_KEPT_MAX {
            self.statements.clear();
        }
        let statement = self.answer(self.client.prepare(sql))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Starts a query whose rows are read as they arrive: no more are on their way than the network's buffers hold.
    pub(crate) fn stream(&self, sql: &str, values: &[&str]) -> Result<RowStream, tokio_postgres::Error> {
        wait_unlimited(async {
            let statement = self.client.prepare(sql).await?;
            self.client.query_raw(&statement, values.iter().copied()).await
        })
    }

    /// The next row of a stream.
    pub(crate) fn next_row(
        &self,
        rows: &mut Pin<Box<RowStream>>,
    ) -> Result<Option<tokio_postgres::Row>, tokio_postgres::Error> {
        wait_unlimited(rows.try_next())
    }

    /// All rows of a query whose columns are text.
    pub(crate) fn texts(&self, sql: &str, values: &[&str]) -> Result<Vec<Vec<Option<String>>>, tokio_postgres::Error> {
        let (mut rows, mut all) = (Box::pin(self.stream(sql, values)?), Vec::new());
        while let Some(row) = self.next_row(&mut rows)? {
            all.push((0..row.len()).map(|position| row.try_get(position)).collect::<Result<_, _>>()?);
        }
        Ok(all)
    }

    /// Ends the connection, even if answers are outstanding.
    pub(crate) fn abort(&self) {
        self.abort.abort();
    }

    /// Begins a transaction on the session that was set up, and on no other.
    fn begin(&self, sql: &str) -> Attempt<()> {
        let is_marked = format!("(current_setting('atsdb.session', true) IS NOT DISTINCT FROM '{}')", self.mark);
        let sql = format!("{sql}; SELECT 1 / {is_marked}::int");
        let begun = async { Ok(self.client.batch_execute(&sql).await) };
        match self.answer(begun)? {
            Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => Err(other_session(&self.location)),
            begun => begun.map_err(|error| translate(error, &self.location)),
        }
    }
}

impl Connection for PostgresConnection {
    fn is_standby(&self) -> bool {
        self.is_standby
    }

    fn statement_bytes_max(&self) -> usize {
        STATEMENT_BYTES_MAX
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<u64> {
        let statement = self.prepare(sql, values)?;
        let values = values.iter().map(|value| Parameter(*value));
        self.answer(self.client.execute_raw(&statement, values))
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Vec<Row>> {
        let statement = self.prepare(sql, values)?;
        let values = values.iter().map(|value| Parameter(*value));
        let rows = self.answer(async {
            let rows = self.client.query_raw(&statement, values).await?;
            rows.map_ok(|row| row_of(&row)).try_collect::<Vec<_>>().await
        })?;
        rows.into_iter().collect::<Result<_, _>>().map_err(|error| translate(error, &self.location))
    }

    fn run(&mut self, sql: &str) -> Attempt<()> {
        if sql.starts_with("BEGIN") {
            return self.begin(sql);
        }
        if sql.starts_with("VACUUM") {
            // This may take any time.
            let done = wait(self.client.batch_execute(sql), None);
            return done.map_or(Ok(()), |done| done.map_err(|error| translate(error, &self.location)));
        }
        self.answer(self.client.batch_execute(sql))
    }
}

/// A value on its way to the server. The statements are fixed, so that each value has its column's type.
#[derive(Debug)]
struct Parameter<'a>(Value<'a>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            Value::Int(value) => value.to_sql(ty, out),
            Value::Text(value) => value.to_sql(ty, out),
            Value::Bytes(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Binary
    }

    to_sql_checked!();
}

fn row_of(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let cell = |(position, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(position)?.map_or(Cell::Null, Cell::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(position)?.map_or(Cell::Null, |value| Cell::Int(value.into())),
            Type::BYTEA => row.try_get::<_, Option<&[u8]>>(position)?.map_or(Cell::Null, |v| Cell::Bytes(v.to_vec())),
            _ => row.try_get::<_, Option<&str>>(position)?.map_or(Cell::Null, |v| Cell::Bytes(v.as_bytes().to_vec())),
        })
    };
    Ok(Row(row.columns().iter().enumerate().map(cell).collect::<Result<_, _>>()?))
}
