//! `pg_notify(channel, payload)`: a message for the sessions that listen to a channel. No session can listen, so that
//! the arguments are checked and nothing is sent.

use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The maximum length of a channel's name in bytes.
const CHANNEL_BYTES_MAX: usize = 63;

/// The maximum length of a payload in bytes.
const PAYLOAD_BYTES_MAX: usize = 7_999;

pub(super) fn function() -> ScalarUDF {
    Plain::new("pg_notify", &[&[DataType::Utf8, DataType::Utf8]], DataType::Utf8, notify).udf()
}

fn notify(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [channels, payloads] = args else { return exec_err!("pg_notify takes a channel and a payload") };
    let messages = channels.as_string::<i32>().iter().zip(payloads.as_string::<i32>());
    let answers = messages.map(|(channel, payload)| {
        let (channel, payload) = (channel.unwrap_or_default(), payload.unwrap_or_default());
        if channel.is_empty() {
            return exec_err!("channel name cannot be empty");
        }
        if channel.len() > CHANNEL_BYTES_MAX {
            return exec_err!("channel name too long");
        }
        if payload.len() > PAYLOAD_BYTES_MAX {
            return exec_err!("payload string too long");
        }
        Ok(Some(""))
    });
    Ok(Arc::new(answers.collect::<Result<StringArray>>()?))
}
