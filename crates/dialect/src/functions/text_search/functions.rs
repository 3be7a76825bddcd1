//! The SQL functions of full-text search. Vectors and queries are texts, which are read where they are arguments.

pub(crate) use super::documents::QueryStyle;

use super::cover_ranking::rank_by_covers;
use super::dictionaries::Configuration;
use super::documents::{text_matches, to_query, to_vector, vector_matches};
use super::headline::headline;
use super::operands::{Operands, Parameter, is_list, weight_of};
use super::query::Joint;
use super::query_text::distance_of;
use super::ranking::{DEFAULT_WEIGHTS, rank};
use super::vector::{Lexeme, Vector};
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::{is_text, type_name};
use crate::functions::base::plain::Plain;
use crate::functions::base::text_types::{SearchType, TextType};
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use atsdb_core::Error;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Int32Array, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The SQL functions of full-text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SearchCall {
    /// Reads a text.
    Read(SearchType),
    /// Returns a value unchanged.
    Declare(SearchType),
    ToVector,
    ToQuery(QueryStyle),
    /// `@@`
    Matches,
    /// `to_tsvector(...) @@`, without the vector.
    TextMatches,
    Strip,
    Length,
    SetWeight,
    Filter,
    Delete,
    ToWords,
    OfWords,
    /// `||` of vectors.
    Concat,
    CountNodes,
    Indexable,
    /// `&&`
    And,
    /// `||` of queries.
    Or,
    /// `!!`
    Not,
    /// `<->`
    Phrase,
    /// `@>`
    Contains,
    Rank,
    RankByCovers,
    Headline,
    Lexize,
}

/// The answer of a call in a row.
enum SearchAnswer {
    Truth(bool),
    Integer(i32),
    Real(f32),
    Text(String),
    Texts(Vec<String>),
}

impl SearchCall {
    /// The calls that have a name in SQL, or that statements are rewritten to.
    pub(crate) const NAMED: [Self; 22] = [
        Self::Read(SearchType::Vector),
        Self::Read(SearchType::Query),
        Self::ToVector,
        Self::ToQuery(QueryStyle::Operators),
        Self::ToQuery(QueryStyle::Plain),
        Self::ToQuery(QueryStyle::Phrase),
        Self::ToQuery(QueryStyle::Web),
        Self::Matches,
        Self::Strip,
        Self::SetWeight,
        Self::Filter,
        Self::Delete,
        Self::ToWords,
        Self::OfWords,
        Self::CountNodes,
        Self::Indexable,
        Self::Not,
        Self::Phrase,
        Self::Rank,
        Self::RankByCovers,
        Self::Headline,
        Self::Lexize,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Read(SearchType::Vector) => "tsvector_of",
            Self::Read(SearchType::Query) => "tsquery_of",
            Self::Declare(SearchType::Vector) => "declared_tsvector",
            Self::Declare(SearchType::Query) => "declared_tsquery",
            Self::ToVector => "to_tsvector",
            Self::ToQuery(QueryStyle::Operators) => "to_tsquery",
            Self::ToQuery(QueryStyle::Plain) => "plainto_tsquery",
            Self::ToQuery(QueryStyle::Phrase) => "phraseto_tsquery",
            Self::ToQuery(QueryStyle::Web) => "websearch_to_tsquery",
            Self::Matches => "ts_match_vq",
            Self::TextMatches => "ts_match_text",
            Self::Strip => "strip",
            Self::Length => "tsvector_length",
            Self::SetWeight => "setweight",
            Self::Filter => "ts_filter",
            Self::Delete => "ts_delete",
            Self::ToWords => "tsvector_to_array",
            Self::OfWords => "array_to_tsvector",
            Self::Concat => "tsvector_concat",
            Self::CountNodes => "numnode",
            Self::Indexable => "querytree",
            Self::And => "tsquery_and",
            Self::Or => "tsquery_or",
            Self::Not => "tsquery_not",
            Self::Phrase => "tsquery_phrase",
            Self::Contains => "tsq_mcontains",
            Self::Rank => "ts_rank",
            Self::RankByCovers => "ts_rank_cd",
            Self::Headline => "ts_headline",
            Self::Lexize => "ts_lexize",
        }
    }

    /// The lists of parameters. Some depend on the types of the arguments.
    fn parameters(self, fields: &[FieldRef]) -> &'static [&'static [Parameter]] {
        use Parameter as P;
        let is_list = |at: usize| fields.get(at).is_some_and(|field| is_list(field.data_type()));
        match self {
            Self::Read(SearchType::Vector) | Self::Strip | Self::Length | Self::ToWords => &[&[P::Vector]],
            Self::Read(SearchType::Query) | Self::CountNodes | Self::Indexable | Self::Not => &[&[P::Query]],
            Self::Declare(_) => &[&[P::Text]],
            Self::ToVector | Self::ToQuery(_) => &[&[P::Text], &[P::Configuration, P::Text]],
            Self::Matches => &[&[P::Vector, P::Query]],
            Self::TextMatches => &[&[P::Text, P::Query], &[P::Configuration, P::Text, P::Query]],
            Self::SetWeight => &[&[P::Vector, P::Weight], &[P::Vector, P::Weight, P::Texts]],
            Self::Filter => &[&[P::Vector, P::Texts]],
            Self::Delete if is_list(1) => &[&[P::Vector, P::Texts]],
            Self::Delete => &[&[P::Vector, P::Text]],
            Self::OfWords => &[&[P::Texts]],
            Self::Concat => &[&[P::Vector, P::Vector]],
            Self::And | Self::Or | Self::Contains => &[&[P::Query, P::Query]],
            Self::Phrase => &[&[P::Query, P::Query], &[P::Query, P::Query, P::Integer]],
            Self::Rank | Self::RankByCovers => {
                let has_method = fields.get(2).is_some_and(|field| field.data_type().is_integer());
                if has_method {
                    &[&[P::Vector, P::Query, P::Integer], &[P::Weights, P::Vector, P::Query, P::Integer]]
                } else {
                    &[
                        &[P::Vector, P::Query],
                        &[P::Weights, P::Vector, P::Query],
                        &[P::Weights, P::Vector, P::Query, P::Integer],
                    ]
                }
            }
            Self::Headline => {
                let of_second = fields.get(1).and_then(|field| TextType::of(field));
                if fields.len() == 3 && of_second == Some(TextType::Search(SearchType::Query)) {
                    &[&[P::Text, P::Query, P::Options]]
                } else {
                    &[
                        &[P::Text, P::Query],
                        &[P::Configuration, P::Text, P::Query],
                        &[P::Configuration, P::Text, P::Query, P::Options],
                    ]
                }
            }
            Self::Lexize => &[&[P::Dictionary, P::Text]],
        }
    }

    /// The parameters for these arguments.
    fn parameters_of(self, fields: &[FieldRef]) -> Result<&'static [Parameter]> {
        let lists = self.parameters(fields);
        let found = lists.iter().find(|parameters| parameters.len() == fields.len());
        let Some(parameters) = found else { return Err(self.no_function(fields)) };
        for (parameter, field) in parameters.iter().zip(fields) {
            let declared = TextType::of(field).filter(|of| !of.is_char());
            let fits = match parameter {
                Parameter::Vector => declared.is_none_or(|of| of == TextType::Search(SearchType::Vector)),
                Parameter::Query => declared.is_none_or(|of| of == TextType::Search(SearchType::Query)),
                _ if declared.as_ref().is_some_and(TextType::is_json) => {
                    let what = format!("{} of JSON", self.name());
                    return Err(external(not_supported(what).with_hint("search its text: CAST(x AS TEXT)")));
                }
                _ => declared.is_none() || matches!(self, Self::Declare(_)),
            };
            let has_type = match (parameter, field.data_type()) {
                (_, DataType::Null) => true,
                (Parameter::Integer, of) => of.is_integer(),
                (parameter, of) => is_text(of) || (parameter.takes_list() && is_list(of)),
            };
            if !fits || !has_type {
                return Err(self.no_function(fields));
            }
        }
        Ok(parameters)
    }

    fn no_function(self, fields: &[FieldRef]) -> DataFusionError {
        let types = fields.iter().map(|field| match TextType::of(field) {
            Some(TextType::Search(of)) => of.name().to_owned(),
            _ => type_name(field.data_type()).to_lowercase(),
        });
        let types = types.collect::<Vec<_>>().join(", ");
        let error = sql_error(format!("function {}({types}) does not exist", self.name()));
        external(error.with_hint("the reference of functions lists its arguments"))
    }

    /// The type of the result, if it is one of full-text search.
    fn search_type(self) -> Option<SearchType> {
        match self {
            Self::Read(of) | Self::Declare(of) => Some(of),
            Self::ToVector | Self::Strip | Self::SetWeight | Self::Filter | Self::Delete => Some(SearchType::Vector),
            Self::OfWords | Self::Concat => Some(SearchType::Vector),
            Self::ToQuery(_) | Self::And | Self::Or | Self::Not | Self::Phrase => Some(SearchType::Query),
            _ => None,
        }
    }

    fn result(self) -> DataType {
        match self {
            Self::Matches | Self::TextMatches | Self::Contains => DataType::Boolean,
            Self::Length | Self::CountNodes => DataType::Int32,
            Self::Rank | Self::RankByCovers => DataType::Float32,
            Self::ToWords | Self::Lexize => DataType::new_list(DataType::Utf8, true),
            _ => DataType::Utf8,
        }
    }
}

/// A function of full-text search.
pub(crate) fn search_function(call: SearchCall) -> ScalarUDF {
    ScalarUDF::new_from_impl(SearchFunction { call, signature: Signature::variadic_any(Volatility::Immutable) })
}

/// The call that a function is.
pub(crate) fn search_call_of(function: &ScalarUDF) -> Option<SearchCall> {
    function.inner().downcast_ref::<SearchFunction>().map(|function| function.call)
}

/// `get_current_ts_config()`: the configuration of calls that name none.
pub(super) fn default_configuration() -> ScalarUDF {
    let name =
        |_: &[ArrayRef]| -> Result<ArrayRef> { Ok(Arc::new(StringArray::from(vec![Configuration::DEFAULT.name()]))) };
    Plain::new("get_current_ts_config", &[&[]], DataType::Utf8, name).udf()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SearchFunction {
    call: SearchCall,
    signature: Signature,
}

impl ScalarUDFImpl for SearchFunction {
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
        self.call.parameters_of(args.arg_fields)?;
        Ok(Arc::new(match self.call.search_type() {
            Some(of) => TextType::Search(of).field(self.name()),
            None => Field::new(self.name(), self.call.result(), true),
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let (SearchCall::Declare(_), [value]) = (self.call, args.args.as_slice()) {
            return value.cast_to(&DataType::Utf8, None);
        }
        let is_constant = are_constant(&args.args);
        let count = if is_constant { 1 } else { args.number_rows };
        let mut operands = Operands::of(self.call.parameters_of(&args.arg_fields)?, &args.args)?;
        let mut answers = Vec::with_capacity(count);
        for row in 0..count {
            answers.push(if operands.move_to(row)? { Some(computed(self.call, &operands)?) } else { None });
        }
        answer(is_constant, array_of(&self.call.result(), answers))
    }
}

fn array_of(of: &DataType, answers: Vec<Option<SearchAnswer>>) -> ArrayRef {
    use SearchAnswer as A;
    let answers = answers.into_iter();
    match of {
        DataType::Boolean => Arc::new(BooleanArray::from_iter(answers.map(|answer| match answer {
            Some(A::Truth(truth)) => Some(truth),
            _ => None,
        }))),
        DataType::Int32 => Arc::new(Int32Array::from_iter(answers.map(|answer| match answer {
            Some(A::Integer(number)) => Some(number),
            _ => None,
        }))),
        DataType::Float32 => Arc::new(Float32Array::from_iter(answers.map(|answer| match answer {
            Some(A::Real(number)) => Some(number),
            _ => None,
        }))),
        DataType::List(_) => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for answer in answers {
                match answer {
                    Some(A::Texts(texts)) => lists.append_value(texts.into_iter().map(Some)),
                    _ => lists.append_null(),
                }
            }
            Arc::new(lists.finish())
        }
        _ => Arc::new(StringArray::from_iter(answers.map(|answer| match answer {
            Some(A::Text(text)) => Some(text),
            _ => None,
        }))),
    }
}

fn computed(call: SearchCall, operands: &Operands) -> Result<SearchAnswer> {
    use SearchAnswer as A;
    use SearchCall as C;
    let text = || match operands.text() {
        Some(text) => Ok(text),
        None => internal_err!("{} without a text", call.name()),
    };
    Ok(match call {
        C::Declare(_) => return internal_err!("{} is no computation", call.name()),
        C::Read(SearchType::Vector) => A::Text(operands.vector(0)?.text()),
        C::Read(SearchType::Query) => A::Text(operands.query(0)?.text()),
        C::ToVector => A::Text(to_vector(operands.configuration(), text()?).map_err(external)?.text()),
        C::ToQuery(style) => A::Text(to_query(operands.configuration(), text()?, style).map_err(external)?.text()),
        C::Matches => A::Truth(vector_matches(operands.vector(0)?, operands.query(0)?).map_err(external)?),
        C::TextMatches => {
            A::Truth(text_matches(operands.configuration(), text()?, operands.query(0)?).map_err(external)?)
        }
        C::Strip => A::Text(operands.vector(0)?.strip().text()),
        C::Length => A::Integer(i32::try_from(operands.vector(0)?.lexemes().len()).unwrap_or(i32::MAX)),
        C::SetWeight => {
            let words = operands.texts().map(known_words);
            A::Text(operands.vector(0)?.with_weight(operands.weight()?, words.as_deref()).text())
        }
        C::Filter => A::Text(operands.vector(0)?.filter(weight_bits(operands).map_err(external)?).text()),
        C::Delete => {
            let words = match operands.texts() {
                Some(words) => known_words(words),
                None => vec![text()?.to_owned()],
            };
            A::Text(operands.vector(0)?.without(&words).text())
        }
        C::ToWords => A::Texts(operands.vector(0)?.lexemes().iter().map(|lexeme| lexeme.word.clone()).collect()),
        C::OfWords => A::Text(vector_of_words(operands).map_err(external)?.text()),
        C::Concat => A::Text(operands.vector(0)?.concat(operands.vector(1)?).map_err(external)?.text()),
        C::CountNodes => A::Integer(i32::try_from(operands.query(0)?.nodes().len()).unwrap_or(i32::MAX)),
        C::Indexable => A::Text(operands.query(0)?.indexable()),
        C::And => A::Text(operands.query(0)?.joined(Joint::And, operands.query(1)?).text()),
        C::Or => A::Text(operands.query(0)?.joined(Joint::Or, operands.query(1)?).text()),
        C::Not => A::Text(operands.query(0)?.negated().text()),
        C::Phrase => {
            let distance = distance_of(operands.integer().map_or(1, i64::from)).map_err(external)?;
            A::Text(operands.query(0)?.joined(Joint::Phrase(distance), operands.query(1)?).text())
        }
        C::Contains => A::Truth(operands.query(0)?.contains(operands.query(1)?)),
        C::Rank | C::RankByCovers => {
            let by = if call == C::Rank { rank } else { rank_by_covers };
            let (weights, method) = (operands.weights().unwrap_or(&DEFAULT_WEIGHTS), operands.integer().unwrap_or(0));
            A::Real(by(weights, operands.vector(0)?, operands.query(0)?, method).map_err(external)?)
        }
        C::Headline => {
            let (configuration, query) = (operands.configuration(), operands.query(0)?);
            A::Text(headline(configuration, text()?, query, operands.options()).map_err(external)?)
        }
        C::Lexize => {
            let word = operands.dictionary()?.normalized(text()?);
            A::Texts(word.into_iter().map(|word| word.into_owned()).collect())
        }
    })
}

/// The words of a list that are not NULL, sorted.
fn known_words(words: &[Option<String>]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().flatten().cloned().collect();
    words.sort_unstable();
    words
}

/// The set of the weights in a list.
fn weight_bits(operands: &Operands) -> atsdb_core::Result<u8> {
    let mut bits = 0;
    for letter in operands.texts().unwrap_or_default() {
        let Some(letter) = letter else {
            return Err(Error::invalid("weight array may not contain nulls").with_hint("weights are A, B, C and D"));
        };
        bits |= weight_of(letter)?.bit();
    }
    Ok(bits)
}

fn vector_of_words(operands: &Operands) -> atsdb_core::Result<Vector> {
    let wrong = |what: &str| Error::invalid(format!("lexeme array may not contain {what}")).with_hint("leave them out");
    let of = |word: &Option<String>| match word {
        None => Err(wrong("nulls")),
        Some(word) if word.is_empty() => Err(wrong("empty strings")),
        Some(word) => Ok(Lexeme { word: word.clone(), positions: Vec::new() }),
    };
    Vector::of(operands.texts().unwrap_or_default().iter().map(of).collect::<atsdb_core::Result<_>>()?)
}
