//! Functions of enumerated types: those that a plan needs for reading labels and for their order, and `enum_first`,
//! `enum_last` and `enum_range`.
//!
//! The type is part of each function, because DataFusion knows its values as texts alone.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::text_types::TextType;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_codec::enumeration_field;
use atsdb_core::Enumeration;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int32Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The function that reads a text as a label.
pub const READ: &str = "enum_of";

/// The function that says that a text is a label.
pub const DECLARED: &str = "declared_enum";

/// The functions that users call with a value whose type alone matters.
pub const OF_TYPE: [&str; 3] = ["enum_first", "enum_last", "enum_range"];

/// A function of an enumerated type, by its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnumCall {
    /// Reads a text, which must be a label.
    Read,
    /// Returns a label unchanged.
    Declare,
    /// Returns the position of a label in the order of the type.
    Rank,
    /// Returns the label at a position.
    Label,
    /// `enum_first`.
    First,
    /// `enum_last`.
    Last,
    /// `enum_range`.
    Range,
}

impl EnumCall {
    /// The call that one of the names of [`OF_TYPE`] means.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "enum_first" => Self::First,
            "enum_last" => Self::Last,
            "enum_range" => Self::Range,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read => READ,
            Self::Declare => DECLARED,
            Self::Rank => "enum_rank",
            Self::Label => "enum_label",
            Self::First => "enum_first",
            Self::Last => "enum_last",
            Self::Range => "enum_range",
        }
    }

    fn returns_label(self) -> bool {
        !matches!(self, Self::Rank | Self::Range)
    }

    fn result(self) -> DataType {
        match self {
            Self::Rank => DataType::Int32,
            Self::Range => DataType::new_list(DataType::Utf8, true),
            _ => DataType::Utf8,
        }
    }

    /// A text that is read now may be a label later, so a plan with it is not kept.
    fn volatility(self) -> Volatility {
        if self == Self::Read { Volatility::Stable } else { Volatility::Immutable }
    }
}

/// The function of a type.
pub fn enum_call(call: EnumCall, of: &Arc<Enumeration>) -> ScalarUDF {
    let signature = Signature::variadic_any(call.volatility());
    ScalarUDF::new_from_impl(EnumFunction { call, of: Some(Arc::clone(of)), signature })
}

/// The functions that are known by name before the type of their argument is.
pub(super) fn functions() -> Vec<ScalarUDF> {
    let calls = OF_TYPE.iter().filter_map(|name| EnumCall::of_name(name));
    let function =
        |call: EnumCall| EnumFunction { call, of: None, signature: Signature::variadic_any(Volatility::Stable) };
    calls.map(|call| ScalarUDF::new_from_impl(function(call))).collect()
}

/// `of` is `None` until the type of the argument is known.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EnumFunction {
    call: EnumCall,
    of: Option<Arc<Enumeration>>,
    signature: Signature,
}

impl EnumFunction {
    fn type_of(&self, args: &[FieldRef]) -> Result<Arc<Enumeration>> {
        let of_argument = || args.iter().find_map(|field| TextType::of(field)?.enumeration());
        self.of.clone().or_else(of_argument).ok_or_else(|| {
            let error = sql_error(format!("{} takes a value of an enumerated type", self.call.name()));
            external(error.with_hint(format!("write {}(NULL::name_of_the_type)", self.call.name())))
        })
    }
}

impl ScalarUDFImpl for EnumFunction {
    fn name(&self) -> &'static str {
        self.call.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.call.result())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = Field::new(self.call.name(), self.call.result(), true);
        if !self.call.returns_label() {
            return Ok(Arc::new(field));
        }
        let of = self.type_of(args.arg_fields)?;
        Ok(Arc::new(enumeration_field(field, &of)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = self.type_of(&args.arg_fields)?;
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let found = match (self.call, arrays.as_slice()) {
            (EnumCall::Read, [texts]) => read(&of, texts)?,
            (EnumCall::Declare, [labels]) => cast(labels, &DataType::Utf8)?,
            (EnumCall::Rank, [labels]) => ranks_of(&of, labels)?,
            (EnumCall::Label, [ranks]) => labels_at(&of, ranks),
            (EnumCall::First, [value]) => repeated(of.labels.first(), value.len()),
            (EnumCall::Last, [value]) => repeated(of.labels.last(), value.len()),
            (EnumCall::Range, [value]) => ranges(&of, &vec![None; value.len()], &vec![None; value.len()]),
            (EnumCall::Range, [low, high]) => {
                let (low, high) = (ranks_of(&of, low)?, ranks_of(&of, high)?);
                let bounds = |ranks: &ArrayRef| ranks.as_primitive::<Int32Type>().iter().collect::<Vec<_>>();
                ranges(&of, &bounds(&low), &bounds(&high))
            }
            (call, arrays) => return exec_err!("{} of {} values", call.name(), arrays.len()),
        };
        answer(is_constant && found.len() == 1, found)
    }
}

/// Texts as labels.
fn read(of: &Enumeration, texts: &ArrayRef) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8)?;
    let labels = ranks_by_label(of);
    for text in texts.as_string::<i32>().iter().flatten() {
        if !labels.contains_key(text) {
            return Err(external(of.no_label(text)));
        }
    }
    Ok(texts)
}

fn ranks_by_label(of: &Enumeration) -> HashMap<&str, i32> {
    (0..).zip(&of.labels).map(|(rank, label)| (label.as_str(), rank)).collect()
}

/// The positions of labels.
fn ranks_of(of: &Enumeration, labels: &ArrayRef) -> Result<ArrayRef> {
    if let Some(dictionary) = labels.as_any_dictionary_opt() {
        let ranks = ranks_of(of, dictionary.values())?;
        return Ok(take(&ranks, dictionary.keys(), None)?);
    }
    let texts = cast(labels, &DataType::Utf8)?;
    let by_label = ranks_by_label(of);
    let rank = |text: Option<&str>| text.and_then(|text| by_label.get(text).copied());
    Ok(Arc::new(texts.as_string::<i32>().iter().map(rank).collect::<Int32Array>()))
}

fn label_at(of: &Enumeration, rank: i32) -> Option<&str> {
    of.labels.get(usize::try_from(rank).ok()?).map(String::as_str)
}

fn labels_at(of: &Enumeration, ranks: &ArrayRef) -> ArrayRef {
    let ranks = ranks.as_primitive::<Int32Type>().iter();
    Arc::new(ranks.map(|rank| label_at(of, rank?)).collect::<StringArray>())
}

fn repeated(label: Option<&String>, count: usize) -> ArrayRef {
    Arc::new(std::iter::repeat_n(label.map(String::as_str), count).collect::<StringArray>())
}

/// Returns the labels between two positions, for each row. A NULL position stands for the beginning or the end of the
/// list.
fn ranges(of: &Enumeration, low: &[Option<i32>], high: &[Option<i32>]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for (low, high) in low.iter().zip(high) {
        let is_in = |rank: i32| low.is_none_or(|low| low <= rank) && high.is_none_or(|high| rank <= high);
        for (_, label) in (0..).zip(&of.labels).filter(|(rank, _)| is_in(*rank)) {
            lists.values().append_value(label);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// `min` or `max` in the order of a type.
pub fn extreme_label(is_max: bool, of: &Arc<Enumeration>) -> Arc<AggregateUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(ExtremeLabel { is_max, of: Arc::clone(of), signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExtremeLabel {
    is_max: bool,
    of: Arc<Enumeration>,
    signature: Signature,
}

impl ExtremeLabel {
    fn labels(&self) -> Box<dyn Accumulator> {
        Box::new(CountedLabels { is_max: self.is_max, of: Arc::clone(&self.of), counts: BTreeMap::new() })
    }
}

impl AggregateUDFImpl for ExtremeLabel {
    fn name(&self) -> &'static str {
        if self.is_max { "max_label" } else { "min_label" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field(&self, _: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(enumeration_field(Field::new(self.name(), DataType::Utf8, true), &self.of)))
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.labels())
    }

    fn create_sliding_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.labels())
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(args.name, DataType::Int32, true))])
    }
}

/// The labels of a group or window by their positions, and how often each of them occurs.
#[derive(Debug)]
struct CountedLabels {
    is_max: bool,
    of: Arc<Enumeration>,
    counts: BTreeMap<i32, u64>,
}

impl CountedLabels {
    fn extreme(&self) -> Option<i32> {
        let found = if self.is_max { self.counts.last_key_value() } else { self.counts.first_key_value() };
        found.map(|(rank, _)| *rank)
    }
}

impl Accumulator for CountedLabels {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for rank in ranks_of(&self.of, &values[0])?.as_primitive::<Int32Type>().iter().flatten() {
            *self.counts.entry(rank).or_insert(0) += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for rank in ranks_of(&self.of, &values[0])?.as_primitive::<Int32Type>().iter().flatten() {
            if let Some(count) = self.counts.get_mut(&rank) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.counts.remove(&rank);
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for rank in states[0].as_primitive::<Int32Type>().iter().flatten() {
            *self.counts.entry(rank).or_insert(0) += 1;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Int32(self.extreme())])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let label = self.extreme().and_then(|rank| label_at(&self.of, rank));
        Ok(ScalarValue::Utf8(label.map(str::to_owned)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.len() * size_of::<(i32, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::QualifiedName;
    use datafusion::arrow::array::DictionaryArray;
    use datafusion::arrow::datatypes::UInt16Type;

    fn mood() -> Enumeration {
        let labels = ["sad", "ok", "happy"].map(str::to_owned).to_vec();
        Enumeration { type_name: QualifiedName { schema: None, name: "mood".into() }, labels }
    }

    #[test]
    fn labels_of_dictionaries_and_texts_have_positions() {
        let texts = [Some("ok"), None, Some("sad"), Some("other")];
        let plain: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let mapped: ArrayRef = Arc::new(texts.into_iter().collect::<DictionaryArray<UInt16Type>>());
        for array in [plain, mapped] {
            let ranks = ranks_of(&mood(), &array).unwrap();
            assert_eq!(ranks.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(1), None, Some(0), None]);
            assert!(read(&mood(), &array).is_err());
        }
    }

    #[test]
    fn a_window_forgets_the_labels_that_left_it() {
        let mut labels = CountedLabels { is_max: true, of: Arc::new(mood()), counts: BTreeMap::new() };
        let batch: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec!["happy", "ok", "sad"]))];
        labels.update_batch(&batch).unwrap();
        assert_eq!(labels.evaluate().unwrap(), ScalarValue::from("happy"));
        labels.retract_batch(&[batch[0].slice(0, 1)]).unwrap();
        assert_eq!(labels.evaluate().unwrap(), ScalarValue::from("ok"));
    }
}
