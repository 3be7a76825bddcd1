//! `min` and `max` of network addresses, in their order.

use super::address::NetworkAddress;
use super::address_text::written;
use super::functions::keys_of;
use crate::functions::base::text_types::{AddressType, TextType};
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The length of the key of an IPv6 address.
const KEY_BYTES_MAX: usize = 34;

/// `min` or `max` of a type.
pub(crate) fn extreme_address(is_max: bool, of: AddressType) -> Arc<AggregateUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(ExtremeAddress { is_max, of, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExtremeAddress {
    is_max: bool,
    of: AddressType,
    signature: Signature,
}

impl ExtremeAddress {
    fn keys(&self, is_sliding: bool) -> Box<dyn Accumulator> {
        Box::new(CountedKeys { is_max: self.is_max, is_sliding, of: self.of, counts: BTreeMap::new() })
    }
}

impl AggregateUDFImpl for ExtremeAddress {
    fn name(&self) -> &'static str {
        if self.is_max { "max_address" } else { "min_address" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field(&self, _: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(TextType::Address(self.of).field(self.name())))
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.keys(false))
    }

    fn create_sliding_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.keys(true))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(args.name, DataType::Binary, true))])
    }
}

/// The keys of a window and how often each of them occurs. Of a group, only the extreme one.
#[derive(Debug)]
struct CountedKeys {
    is_max: bool,
    is_sliding: bool,
    of: AddressType,
    counts: BTreeMap<Vec<u8>, u64>,
}

impl CountedKeys {
    fn extreme(&self) -> Option<&Vec<u8>> {
        let found = if self.is_max { self.counts.last_key_value() } else { self.counts.first_key_value() };
        found.map(|(key, _)| key)
    }

    fn add(&mut self, key: Vec<u8>) {
        *self.counts.entry(key).or_insert(0) += 1;
        if !self.is_sliding && self.counts.len() > 1 {
            if self.is_max {
                self.counts.pop_first()
            } else {
                self.counts.pop_last()
            };
        }
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(count) = self.counts.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(key);
            }
        }
    }
}

impl Accumulator for CountedKeys {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        keys_of(&values[0])?.into_iter().flatten().for_each(|key| self.add(key));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        keys_of(&values[0])?.iter().flatten().for_each(|key| self.remove(key));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.is_sliding
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_binary::<i32>().iter().flatten().for_each(|key| self.add(key.to_vec()));
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Binary(self.extreme().cloned())])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let address = self.extreme().and_then(|key| NetworkAddress::of_key(key));
        Ok(ScalarValue::Utf8(address.map(|address| written(address, self.of))))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.len() * (size_of::<(Vec<u8>, u64)>() + KEY_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::StringArray;

    fn extreme_of(texts: &[&str], is_max: bool) -> ScalarValue {
        let addresses =
            ExtremeAddress { is_max, of: AddressType::Inet, signature: Signature::any(1, Volatility::Immutable) };
        let mut keys = addresses.keys(true);
        let batch: Vec<ArrayRef> = vec![Arc::new(StringArray::from(texts.to_vec()))];
        keys.update_batch(&batch).unwrap();
        let state = keys.state().unwrap()[0].to_array().unwrap();
        let mut merged = addresses.keys(false);
        merged.merge_batch(&[state]).unwrap();
        assert_eq!(merged.evaluate().unwrap(), keys.evaluate().unwrap());
        keys.retract_batch(&[batch[0].slice(0, 1)]).unwrap();
        keys.evaluate().unwrap()
    }

    #[test]
    fn addresses_have_their_own_order_and_windows_forget_those_that_left() {
        let texts = ["10.0.0.100", "9.0.0.0", "10.0.0.9", "10.0.0.20"];
        assert_eq!(extreme_of(&texts, true), ScalarValue::from("10.0.0.20"));
        assert_eq!(extreme_of(&texts, false), ScalarValue::from("9.0.0.0"));
    }
}
