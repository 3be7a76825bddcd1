use super::*;
use arrow::array::{
    Array, BinaryArray, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int64Array, ListArray, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Int64Type, UInt8Type};
use std::sync::Arc;

fn texts(array: &dyn Array) -> Vec<String> {
    let cells = Cells::new(array).unwrap();
    let text = |row| {
        let mut out = Vec::new();
        cells.write(row, &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..array.len()).map(|row| if cells.is_null(row) { "NULL".to_owned() } else { text(row) }).collect()
}

fn json(array: &dyn Array) -> Vec<String> {
    let cells = Cells::new(array).unwrap();
    let text = |row| {
        let mut out = Vec::new();
        cells.write_json(row, &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..array.len()).map(text).collect()
}

#[test]
fn times_carry_the_digits_they_need_and_the_ends_of_i64_have_text() {
    let array = TimestampMicrosecondArray::from(vec![Some(0), Some(-1), Some(1_500_000), None]).with_timezone("UTC");
    let expected = ["1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:01.500Z", "NULL"];
    assert_eq!(texts(&array), expected);
    let far = TimestampSecondArray::from(vec![i64::MAX, i64::MIN]).with_timezone("UTC");
    assert_eq!(texts(&far), ["+292277026596-12-04T15:30:07Z", "-292277022657-01-27T08:29:52Z"]);
    let local = TimestampNanosecondArray::from(vec![1_000, 1]);
    assert_eq!(texts(&local), ["1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.000000001"]);
}

#[test]
fn floats_read_back_to_the_same_value() {
    let values = [0.1, -0.0, 1.0, 1e300, 5e-324, f64::MAX, 123_456_789.125];
    for (text, value) in texts(&Float64Array::from(values.to_vec())).iter().zip(values) {
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
    }
    assert_eq!(texts(&Float32Array::from(vec![0.1])), ["0.1"]);
    let odd = Float64Array::from(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(json(&odd), ["\"NaN\"", "\"inf\"", "\"-inf\""]);
}

#[test]
fn integers_are_exact() {
    assert_eq!(json(&Int64Array::from(vec![i64::MIN])), ["-9223372036854775808"]);
    assert_eq!(json(&UInt64Array::from(vec![u64::MAX])), ["18446744073709551615"]);
}

#[test]
fn the_rest_reads_as_documented() {
    assert_eq!(texts(&BooleanArray::from(vec![true, false])), ["true", "false"]);
    assert_eq!(texts(&BinaryArray::from_vec(vec![b"\x00\xffa", b""])), ["\\x00ff61", "\\x"]);
    let dictionary: DictionaryArray<UInt8Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    assert_eq!(json(&dictionary), ["\"a\"", "null", "\"a\""]);
    assert_eq!(json(&StringArray::from(vec!["a\"\n\0"])), ["\"a\\\"\\n\\u0000\""]);
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1), None]), None]);
    assert_eq!(json(&list), ["[1,null]", "null"]);
    assert_eq!(texts(&list), ["{1,NULL}", "NULL"]);
    let words = Arc::new(StringArray::from(vec!["a b", "\"", "", "c"]));
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let words = ListArray::new(field, OffsetBuffer::from_lengths([3, 1, 0]), words, None);
    assert_eq!(texts(&words), ["{\"a b\",\"\\\"\",\"\"}", "{c}", "{}"]);
    assert_eq!(json(&words), ["[\"a b\",\"\\\"\",\"\"]", "[\"c\"]", "[]"]);
    let field = Arc::new(Field::new_list_field(words.data_type().clone(), true));
    let nested = ListArray::new(field, OffsetBuffer::from_lengths([2, 1]), Arc::new(words), None);
    assert_eq!(texts(&nested), ["{{\"a b\",\"\\\"\",\"\"},{c}}", "{{}}"]);
}
