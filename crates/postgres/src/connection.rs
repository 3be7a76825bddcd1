//! One connection. Its bytes are moved by a thread of the store's; who asks blocks on the answer, on whatever thread that
//! is, one of tokio's included.

use crate::error::translate;
use crate::tls::Tls;
use atsdb_sqlstore::{Attempt, Cell, Connection, Row, Value};
use futures::TryStreamExt;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Statement};

/// Statements that a connection keeps prepared.
const STATEMENTS_KEPT_MAX: usize = 256;

/// The thread that moves the bytes of all connections of a store.
#[derive(Debug)]
pub(crate) struct Mover(Option<Runtime>);

impl Mover {
    pub(crate) fn new() -> std::io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("atsdb-postgres").enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    fn runtime(&self) -> Option<&Runtime> {
        self.0.as_ref()
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        // Waiting for the thread is forbidden on tokio's own threads, where a store may well be dropped.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an answer.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut answer = pin!(answer);
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A connection that is set up.
pub(crate) struct PostgresConnection {
    client: Client,
    statements: HashMap<String, Statement>,
    place: Arc<str>,
    // Dropped last: without it nothing moves.
    _mover: Arc<Mover>,
}

impl PostgresConnection {
    /// Connects. What becomes of the connection later shows in the next answer.
    pub(crate) fn open(config: &Config, tls: &Tls, mover: &Arc<Mover>, place: &Arc<str>) -> Attempt<Self> {
        let runtime = mover.runtime().ok_or_else(|| atsdb_core::Error::internal("the store is closed"))?;
        let config = config.clone();
        let connecting = match tls.connector() {
            None => runtime.spawn(async move {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(connection);
                Ok::<_, tokio_postgres::Error>(client)
            }),
            Some(connector) => runtime.spawn(async move {
                let (client, connection) = config.connect(connector).await?;
                tokio::spawn(connection);
                Ok(client)
            }),
        };
        let client = wait(connecting)
            .map_err(|error| atsdb_core::Error::internal(format!("connecting to {place} ended early: {error}")))?
            .map_err(|error| translate(error, place))?;
        Ok(Self { client, statements: HashMap::new(), place: Arc::clone(place), _mover: Arc::clone(mover) })
    }

    fn prepare(&mut self, sql: &str) -> Attempt<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_KEPT_MAX {
            self.statements.clear();
        }
        let statement = wait(self.client.prepare(sql)).map_err(|error| translate(error, &self.place))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Connection for PostgresConnection {
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<u64> {
        let statement = self.prepare(sql)?;
        let values = values.iter().map(|value| Parameter(*value));
        wait(self.client.execute_raw(&statement, values)).map_err(|error| translate(error, &self.place))
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Vec<Row>> {
        let statement = self.prepare(sql)?;
        let values = values.iter().map(|value| Parameter(*value));
        let answer = async {
            let rows = self.client.query_raw(&statement, values).await?;
            rows.map_ok(|row| row_of(&row)).try_collect::<Vec<_>>().await
        };
        let rows = wait(answer).map_err(|error| translate(error, &self.place))?;
        rows.into_iter().collect::<Result<_, _>>().map_err(|error| translate(error, &self.place))
    }

    fn run(&mut self, sql: &str) -> Attempt<()> {
        wait(self.client.batch_execute(sql)).map_err(|error| translate(error, &self.place))
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
