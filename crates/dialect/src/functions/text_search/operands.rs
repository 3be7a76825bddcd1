//! The arguments of a call for one row after another. A constant is read once.

use super::dictionaries::{Configuration, Dictionary};
use super::headline_options::HeadlineOptions;
use super::query::Query;
use super::query_text;
use super::ranking::weights_of;
use super::vector::{Vector, Weight};
use crate::functions::base::arguments::strictly;
use crate::text::datafusion_errors::external;
use atsdb_core::{Error, array_text};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;

/// A parameter: what a function takes at a place among its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Configuration,
    Dictionary,
    Text,
    Vector,
    Query,
    Integer,
    Weight,
    Texts,
    /// The weights of D, C, B and A in ranks.
    Weights,
    /// The options of headlines.
    Options,
}

impl Parameter {
    pub(super) fn takes_list(self) -> bool {
        matches!(self, Self::Texts | Self::Weights)
    }
}

pub(super) fn is_list(of: &DataType) -> bool {
    matches!(of, DataType::List(_) | DataType::LargeList(_))
}

/// The value of an argument in a row.
#[derive(Debug)]
enum Argument {
    Configuration(Configuration),
    Dictionary(Dictionary),
    Vector(Vector),
    Query(Query),
    Integer(i32),
    Weight(Weight),
    Texts(Vec<Option<String>>),
    Weights([f32; 4]),
    Options(HeadlineOptions),
    /// A text, which stays in the array and is read there.
    Text,
    Null,
}

/// An argument with its values for all rows, and the value in the current row.
struct Operand {
    parameter: Parameter,
    values: ArrayRef,
    is_constant: bool,
    row: usize,
    current: Argument,
}

impl Operand {
    fn of(parameter: Parameter, value: &ColumnarValue) -> Result<Self> {
        let is_constant = matches!(value, ColumnarValue::Scalar(_));
        // A constant is an array of one row here.
        let values = value.to_array(1)?;
        let values = match parameter {
            Parameter::Integer => strictly(&values, &DataType::Int32)?,
            _ if is_list(values.data_type()) => cast(&values, &DataType::new_list(DataType::Utf8, true))?,
            _ => cast(&values, &DataType::Utf8)?,
        };
        let mut operand = Self { parameter, values, is_constant, row: 0, current: Argument::Null };
        if is_constant {
            operand.current = operand.read()?;
        }
        Ok(operand)
    }

    fn move_to(&mut self, row: usize) -> Result<()> {
        if !self.is_constant {
            self.row = row;
            self.current = self.read()?;
        }
        Ok(())
    }

    fn text(&self) -> &str {
        self.values.as_string::<i32>().value(self.row)
    }

    fn read(&self) -> Result<Argument> {
        if self.values.is_null(self.row) {
            return Ok(Argument::Null);
        }
        Ok(match self.parameter {
            Parameter::Integer => Argument::Integer(self.values.as_primitive::<Int32Type>().value(self.row)),
            Parameter::Text => Argument::Text,
            Parameter::Configuration => Argument::Configuration(Configuration::of_name(self.text()).map_err(external)?),
            Parameter::Dictionary => Argument::Dictionary(Dictionary::of_name(self.text()).map_err(external)?),
            Parameter::Vector => Argument::Vector(Vector::parse(self.text()).map_err(external)?),
            Parameter::Query => Argument::Query(query_text::parse(self.text()).map_err(external)?),
            Parameter::Weight => Argument::Weight(weight_of(self.text()).map_err(external)?),
            Parameter::Options => Argument::Options(HeadlineOptions::parse(self.text()).map_err(external)?),
            Parameter::Texts => Argument::Texts(self.elements()?),
            Parameter::Weights => {
                let numbers = self.elements()?;
                let numbers: Vec<Option<f32>> = numbers
                    .iter()
                    .map(|number| number.as_deref().map(number_of).transpose())
                    .collect::<atsdb_core::Result<_>>()
                    .map_err(external)?;
                Argument::Weights(weights_of(&numbers).map_err(external)?)
            }
        })
    }

    /// The elements of a list, or of the text form of one.
    fn elements(&self) -> Result<Vec<Option<String>>> {
        if self.values.data_type().is_string() {
            let text = self.text();
            return array_text::parse(text).map_err(|error| external(Error::invalid(error.message(text))));
        }
        let elements = self.values.as_list::<i32>().value(self.row);
        Ok(elements.as_string::<i32>().iter().map(|element| element.map(str::to_owned)).collect())
    }
}

/// The weight that a text names by its letter.
pub(super) fn weight_of(text: &str) -> atsdb_core::Result<Weight> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none()).and_then(Weight::of_letter).ok_or_else(|| {
        Error::invalid(format!("unrecognized weight: \"{text:.60}\"")).with_hint("weights are A, B, C and D")
    })
}

fn number_of(text: &str) -> atsdb_core::Result<f32> {
    text.trim().parse().map_err(|_| {
        Error::invalid(format!("invalid input syntax for type real: \"{text:.60}\"")).with_hint("write a number: 0.5")
    })
}

/// The arguments of a call.
pub(super) struct Operands {
    operands: Vec<Operand>,
}

impl Operands {
    pub(super) fn of(parameters: &[Parameter], args: &[ColumnarValue]) -> Result<Self> {
        let operands = parameters.iter().zip(args).map(|(parameter, arg)| Operand::of(*parameter, arg));
        Ok(Self { operands: operands.collect::<Result<_>>()? })
    }

    /// Reads the arguments of a row. Returns whether none of them is NULL.
    pub(super) fn move_to(&mut self, row: usize) -> Result<bool> {
        for operand in &mut self.operands {
            operand.move_to(row)?;
        }
        Ok(self.operands.iter().all(|operand| !matches!(operand.current, Argument::Null)))
    }

    fn get(&self, parameter: Parameter, number: usize) -> Option<&Operand> {
        self.operands.iter().filter(|operand| operand.parameter == parameter).nth(number)
    }

    /// The configuration, which calls may leave out.
    pub(super) fn configuration(&self) -> Configuration {
        match self.get(Parameter::Configuration, 0).map(|operand| &operand.current) {
            Some(Argument::Configuration(of)) => *of,
            _ => Configuration::DEFAULT,
        }
    }

    pub(super) fn dictionary(&self) -> Result<Dictionary> {
        match self.get(Parameter::Dictionary, 0).map(|operand| &operand.current) {
            Some(Argument::Dictionary(of)) => Ok(*of),
            _ => internal_err!("a call without a dictionary"),
        }
    }

    /// The text.
    pub(super) fn text(&self) -> Option<&str> {
        self.get(Parameter::Text, 0).map(Operand::text)
    }

    /// One of the vectors, by its number among them.
    pub(super) fn vector(&self, number: usize) -> Result<&Vector> {
        match self.get(Parameter::Vector, number).map(|operand| &operand.current) {
            Some(Argument::Vector(vector)) => Ok(vector),
            _ => internal_err!("a call without its vector {number}"),
        }
    }

    /// One of the queries, by its number among them.
    pub(super) fn query(&self, number: usize) -> Result<&Query> {
        match self.get(Parameter::Query, number).map(|operand| &operand.current) {
            Some(Argument::Query(query)) => Ok(query),
            _ => internal_err!("a call without its query {number}"),
        }
    }

    /// The number, which calls may leave out.
    pub(super) fn integer(&self) -> Option<i32> {
        match self.get(Parameter::Integer, 0).map(|operand| &operand.current) {
            Some(Argument::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn weight(&self) -> Result<Weight> {
        match self.get(Parameter::Weight, 0).map(|operand| &operand.current) {
            Some(Argument::Weight(weight)) => Ok(*weight),
            _ => internal_err!("a call without a weight"),
        }
    }

    /// The list of texts, which calls may leave out.
    pub(super) fn texts(&self) -> Option<&[Option<String>]> {
        match self.get(Parameter::Texts, 0).map(|operand| &operand.current) {
            Some(Argument::Texts(texts)) => Some(texts),
            _ => None,
        }
    }

    /// The weights of a rank, which calls may leave out.
    pub(super) fn weights(&self) -> Option<&[f32; 4]> {
        match self.get(Parameter::Weights, 0).map(|operand| &operand.current) {
            Some(Argument::Weights(weights)) => Some(weights),
            _ => None,
        }
    }

    /// The options of a headline, which calls may leave out.
    pub(super) fn options(&self) -> Option<&HeadlineOptions> {
        match self.get(Parameter::Options, 0).map(|operand| &operand.current) {
            Some(Argument::Options(options)) => Some(options),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::StringArray;
    use datafusion::common::ScalarValue;
    use std::sync::Arc;

    #[test]
    fn a_constant_is_read_once_for_all_rows() {
        let rows: ArrayRef = Arc::new(StringArray::from(vec![Some("a:1"), None, Some("b")]));
        let args = [ColumnarValue::Array(rows), ColumnarValue::Scalar(ScalarValue::from("a&b"))];
        let mut operands = Operands::of(&[Parameter::Vector, Parameter::Query], &args).unwrap();
        let read = operands.query(0).unwrap().nodes().as_ptr();
        let are_known = [0, 1, 2].map(|row| operands.move_to(row).unwrap());
        assert_eq!(are_known, [true, false, true]);
        assert_eq!(operands.vector(0).unwrap().text(), "'b'");
        assert_eq!(operands.query(0).unwrap().nodes().as_ptr(), read);
    }

    #[test]
    fn constant_options_are_parsed_once_for_all_rows() {
        let rows: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let args = [ColumnarValue::Array(rows), ColumnarValue::Scalar(ScalarValue::from("StartSel=<i>"))];
        let mut operands = Operands::of(&[Parameter::Text, Parameter::Options], &args).unwrap();
        let parsed = operands.options().unwrap().start.as_ptr();
        assert!(operands.move_to(1).unwrap());
        assert_eq!(operands.options().unwrap().start, "<i>");
        assert_eq!(operands.options().unwrap().start.as_ptr(), parsed);
    }

    #[test]
    fn lists_may_be_texts() {
        let args = [ColumnarValue::Scalar(ScalarValue::from("{0.1, 0.2, 0.4, 0.5}"))];
        let mut operands = Operands::of(&[Parameter::Weights], &args).unwrap();
        assert!(operands.move_to(0).unwrap());
        assert_eq!(operands.weights(), Some(&[0.1, 0.2, 0.4, 0.5]));
    }
}
