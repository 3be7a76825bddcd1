//! `GetInfo`: information about the driver and the store.

use crate::failure::of_store;
use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::Result;
use adbc_core::options::InfoCode;
use adbc_core::schemas::GET_INFO_SCHEMA;
use atsdb::arrow::ARROW_VERSION;
use atsdb::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray, new_empty_array,
};
use atsdb::arrow::buffer::ScalarBuffer;
use atsdb::arrow::datatypes::DataType;
use std::collections::HashSet;
use std::sync::Arc;

/// A value, in the member of the union for its type.
enum InfoValue {
    Text(&'static str),
    Bool(bool),
    Int(i64),
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

const ALL: [(InfoCode, InfoValue); 9] = [
    (InfoCode::VendorName, InfoValue::Text("atsdb")),
    (InfoCode::VendorVersion, InfoValue::Text(VERSION)),
    (InfoCode::VendorArrowVersion, InfoValue::Text(ARROW_VERSION)),
    (InfoCode::VendorSql, InfoValue::Bool(true)),
    (InfoCode::VendorSubstrait, InfoValue::Bool(false)),
    (InfoCode::DriverName, InfoValue::Text("ADBC driver for atsdb")),
    (InfoCode::DriverVersion, InfoValue::Text(VERSION)),
    (InfoCode::DriverArrowVersion, InfoValue::Text(ARROW_VERSION)),
    (InfoCode::DriverAdbcVersion, InfoValue::Int(ADBC_VERSION_1_1_0 as i64)),
];

/// The values of these codes, or of all. Codes that are not known are left out.
pub(crate) fn info(wanted: Option<&HashSet<InfoCode>>) -> Result<RecordBatch> {
    batch(wanted).map_err(of_store)
}

fn batch(wanted: Option<&HashSet<InfoCode>>) -> atsdb::Result<RecordBatch> {
    let (mut codes, mut members, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let (mut texts, mut bools, mut ints): (Vec<&str>, Vec<bool>, Vec<i64>) = (Vec::new(), Vec::new(), Vec::new());
    for (code, value) in ALL.iter().filter(|(code, _)| wanted.is_none_or(|wanted| wanted.contains(code))) {
        codes.push(u32::from(code));
        let (member, length) = match value {
            InfoValue::Text(text) => {
                texts.push(text);
                (0_i8, texts.len())
            }
            InfoValue::Bool(value) => {
                bools.push(*value);
                (1, bools.len())
            }
            InfoValue::Int(value) => {
                ints.push(*value);
                (2, ints.len())
            }
        };
        members.push(member);
        offsets.push(length as i32 - 1);
    }
    let schema = Arc::clone(&GET_INFO_SCHEMA);
    let DataType::Union(fields, _) = schema.field(1).data_type().clone() else {
        return Err(atsdb::Error::internal("the values of GetInfo are not a union"));
    };
    let unused = fields.iter().skip(3).map(|(_, field)| new_empty_array(field.data_type()));
    let used: [ArrayRef; 3] =
        [Arc::new(StringArray::from(texts)), Arc::new(BooleanArray::from(bools)), Arc::new(Int64Array::from(ints))];
    let children = used.into_iter().chain(unused).collect();
    let (members, offsets) = (ScalarBuffer::from(members), ScalarBuffer::from(offsets));
    let values = UnionArray::try_new(fields, members, Some(offsets), children)?;
    Ok(RecordBatch::try_new(schema, vec![Arc::new(UInt32Array::from(codes)), Arc::new(values)])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_are_not_known_are_left_out() {
        assert_eq!(info(None).unwrap().num_rows(), ALL.len());
        let wanted =
            HashSet::from([InfoCode::VendorName, InfoCode::Other(12_345), InfoCode::VendorSubstraitMinVersion]);
        let batch = info(Some(&wanted)).unwrap();
        assert_eq!(batch.num_rows(), 1);
        assert_eq!(info(Some(&HashSet::new())).unwrap().num_rows(), 0);
    }
}
