//! Messages to a client, collected until they are sent.

use crate::pg::error::{PgError, Subject};

/// Messages that are waiting to be sent.
#[derive(Debug, Default)]
pub(in crate::pg) struct Outgoing {
    pub(in crate::pg) bytes: Vec<u8>,
}

/// The state of the session's transaction, as each ReadyForQuery reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum TransactionStatus {
    Idle,
    Open,
    Failed,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct ResultColumn {
    pub(in crate::pg) name: String,
    /// The number of its type.
    pub(in crate::pg) type_id: u32,
    /// The modifier of its type, -1 if it has none.
    pub(in crate::pg) modifier: i32,
    /// The column of a table that it shows, if it is one.
    pub(in crate::pg) origin: Option<Origin>,
}

/// A column of a table, by the numbers in `pg_class` and `pg_attribute`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) struct Origin {
    pub(in crate::pg) table: u32,
    pub(in crate::pg) position: i16,
}

impl ResultColumn {
    /// A column that is not one of a table.
    pub(in crate::pg) fn new(name: impl Into<String>, type_id: u32) -> Self {
        Self { name: name.into(), type_id, modifier: -1, origin: None }
    }
}

/// Gives columns the headings, the modifiers and the origins that were announced for them.
pub(in crate::pg) fn take_columns(columns: &mut [ResultColumn], announced: &[ResultColumn]) {
    for (column, announced) in columns.iter_mut().zip(announced) {
        column.name.clone_from(&announced.name);
        (column.modifier, column.origin) = (announced.modifier, announced.origin);
    }
}

impl Outgoing {
    /// Appends a message of this kind, whose content the function `body` appends.
    pub(in crate::pg) fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(kind);
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        body(&mut self.bytes);
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends a single byte that is not a message: the answer to a request for TLS.
    pub(in crate::pg) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(in crate::pg) fn authentication_ok(&mut self) {
        self.message(b'R', |out| out.extend(0_i32.to_be_bytes()));
    }

    /// The mechanisms of SASL that the client may choose from.
    pub(in crate::pg) fn sasl(&mut self, mechanisms: &[&str]) {
        self.message(b'R', |out| {
            out.extend(10_i32.to_be_bytes());
            mechanisms.iter().for_each(|name| text(out, name));
            out.push(0);
        });
    }

    /// The server's message in the middle of SASL.
    pub(in crate::pg) fn sasl_continue(&mut self, message: &str) {
        self.message(b'R', |out| {
            out.extend(11_i32.to_be_bytes());
            out.extend(message.as_bytes());
        });
    }

    /// The server's last message of SASL.
    pub(in crate::pg) fn sasl_final(&mut self, message: &str) {
        self.message(b'R', |out| {
            out.extend(12_i32.to_be_bytes());
            out.extend(message.as_bytes());
        });
    }

    /// Reports that the server supports version 3.0, and does not know these parameters.
    pub(in crate::pg) fn negotiate(&mut self, unknown: &[&str]) {
        self.message(b'v', |out| {
            out.extend(0_i32.to_be_bytes());
            out.extend((unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| text(out, name));
        });
    }

    pub(in crate::pg) fn parameter(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            text(out, name);
            text(out, value);
        });
    }

    pub(in crate::pg) fn key_data(&mut self, process: i32, secret: i32) {
        self.message(b'K', |out| {
            out.extend(process.to_be_bytes());
            out.extend(secret.to_be_bytes());
        });
    }

    pub(in crate::pg) fn ready(&mut self, status: TransactionStatus) {
        self.message(b'Z', |out| {
            out.push(match status {
                TransactionStatus::Idle => b'I',
                TransactionStatus::Open => b'T',
                TransactionStatus::Failed => b'E',
            });
        });
    }

    pub(in crate::pg) fn error(&mut self, error: &PgError) {
        self.message(if error.severity.is_notice() { b'N' } else { b'E' }, |out| {
            let severity = error.severity.name();
            let mut field = |kind: u8, value: &str| {
                out.push(kind);
                text(out, value);
            };
            field(b'S', severity);
            field(b'V', severity);
            field(b'C', error.code);
            field(b'M', &error.message);
            if let Some(detail) = &error.detail {
                field(b'D', detail);
            }
            if let Some(hint) = &error.hint {
                field(b'H', hint);
            }
            if let Some(position) = error.position {
                field(b'P', &position.to_string());
            }
            if let Some(context) = &error.context {
                field(b'W', context);
            }
            if let Some(Subject::Defined(object)) = error.subject.as_deref() {
                field(b's', &object.schema);
                field(b't', &object.table);
                if let Some(column) = &object.column {
                    field(b'c', column);
                }
                if let Some(constraint) = &object.constraint {
                    field(b'n', constraint);
                }
            }
            out.push(0);
        });
    }

    pub(in crate::pg) fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| text(out, tag));
    }

    pub(in crate::pg) fn empty_query(&mut self) {
        self.message(b'I', |_| ());
    }

    pub(in crate::pg) fn parse_complete(&mut self) {
        self.message(b'1', |_| ());
    }

    pub(in crate::pg) fn bind_complete(&mut self) {
        self.message(b'2', |_| ());
    }

    pub(in crate::pg) fn close_complete(&mut self) {
        self.message(b'3', |_| ());
    }

    pub(in crate::pg) fn portal_suspended(&mut self) {
        self.message(b's', |_| ());
    }

    pub(in crate::pg) fn no_data(&mut self) {
        self.message(b'n', |_| ());
    }

    pub(in crate::pg) fn parameter_description(&mut self, types: &[u32]) {
        self.message(b't', |out| {
            out.extend((types.len() as u16).to_be_bytes());
            types.iter().for_each(|id| out.extend(id.to_be_bytes()));
        });
    }

    /// The columns of a result, with the format of each and the bytes of a value of its type (-1 is variable).
    pub(in crate::pg) fn row_description(&mut self, columns: &[(&ResultColumn, i16, i16)]) {
        self.message(b'T', |out| {
            out.extend((columns.len() as u16).to_be_bytes());
            for (column, format, width) in columns {
                text(out, &column.name);
                out.extend(column.origin.map_or(0, |origin| origin.table).to_be_bytes());
                out.extend(column.origin.map_or(0, |origin| origin.position).to_be_bytes());
                out.extend(column.type_id.to_be_bytes());
                out.extend(width.to_be_bytes());
                out.extend(column.modifier.to_be_bytes());
                out.extend(format.to_be_bytes());
            }
        });
    }

    /// The beginning of a COPY, in (`G`) or out (`H`).
    pub(in crate::pg) fn copy_response(&mut self, kind: u8, is_binary: bool, column_count: usize) {
        self.message(kind, |out| {
            out.push(u8::from(is_binary));
            out.extend((column_count as u16).to_be_bytes());
            (0..column_count).for_each(|_| out.extend(i16::from(is_binary).to_be_bytes()));
        });
    }

    pub(in crate::pg) fn copy_done(&mut self) {
        self.message(b'c', |_| ());
    }
}

/// Appends a text and a zero byte that ends it. Zero bytes in the text would end it early, so they are left out.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}
