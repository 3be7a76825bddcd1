//! The functions of the sequences that identity columns have: `nextval`, `currval`, `lastval`, `setval` and
//! `pg_get_serial_sequence`. Not owned: the numbers (`engine`).

use crate::text::datafusion_errors::external;
use crate::text::errors::{sql_error, unknown_sequence};
use crate::text::sequence_names::{find_sequence, name_in, qualified_sequence_name};
use crate::text::table_names::Scope;
use atsdb_core::{Error, ErrorKind};
use atsdb_engine::{ReadSnapshot, SessionNumbers};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

const NEXT: &str = "nextval";
const SET: &str = "setval";

/// The functions that change a sequence.
pub const CHANGING: [&str; 2] = [NEXT, SET];

/// The session in which a statement calls the functions.
#[derive(Debug, Clone)]
pub struct SequenceSession {
    /// The numbers that the session has taken.
    pub numbers: SessionNumbers,
    /// The state that the statement sees.
    pub snapshot: ReadSnapshot,
    /// The reason why the session may not change anything; `None` if it may.
    pub refusal: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SequenceCall {
    Next,
    Current,
    Last,
    Set,
    OfColumn,
}

/// The functions for a statement; without a session, for one that is only planned.
pub fn sequence_functions(session: Option<SequenceSession>) -> Vec<ScalarUDF> {
    let session = session.map(Arc::new);
    let kinds =
        [SequenceCall::Next, SequenceCall::Current, SequenceCall::Last, SequenceCall::Set, SequenceCall::OfColumn];
    kinds.map(|kind| ScalarUDF::new_from_impl(SequenceFunction::new(kind, session.clone()))).into()
}

#[derive(Debug)]
struct SequenceFunction {
    kind: SequenceCall,
    session: Option<Arc<SequenceSession>>,
    /// The sequence of a call without arguments.
    sequence: Option<String>,
    signature: Signature,
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.sequence == other.sequence
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.sequence.hash(state);
    }
}

impl SequenceFunction {
    fn new(kind: SequenceCall, session: Option<Arc<SequenceSession>>) -> Self {
        use DataType::{Boolean, Int64, Utf8};
        let signature = match kind {
            SequenceCall::Next | SequenceCall::Current => Signature::exact(vec![Utf8], Volatility::Volatile),
            SequenceCall::Last => Signature::nullary(Volatility::Volatile),
            SequenceCall::Set => {
                let lists = [vec![Utf8, Int64], vec![Utf8, Int64, Boolean]].map(TypeSignature::Exact);
                Signature::one_of(lists.into(), Volatility::Volatile)
            }
            SequenceCall::OfColumn => Signature::exact(vec![Utf8, Utf8], Volatility::Volatile),
        };
        Self { kind, session, sequence: None, signature }
    }

    /// The function without arguments for one sequence.
    fn of_sequence(&self, name: &str) -> Self {
        Self {
            kind: self.kind,
            session: self.session.clone(),
            sequence: Some(name.to_owned()),
            signature: Signature::nullary(Volatility::Volatile),
        }
    }

    fn session(&self) -> Result<&SequenceSession> {
        self.session.as_deref().ok_or_else(|| external(Error::internal(format!("{} without a session", self.name()))))
    }

    fn value(&self, arguments: &[ArrayRef], row: usize) -> Result<Option<i64>, Error> {
        let session = self.session().map_err(|error| Error::internal(error.to_string()))?;
        if self.kind == SequenceCall::Last {
            let last = session.numbers.last();
            return last.map(Some).ok_or_else(|| sql_error("lastval is not yet defined in this session"));
        }
        let Some(name) = text(arguments, 0, row) else { return Ok(None) };
        let (table, position) =
            find_sequence(Scope::of(&session.snapshot), name).ok_or_else(|| unknown_sequence(name))?;
        let column = &table.definition.columns[position];
        match self.kind {
            SequenceCall::Next => {
                if let Some(refusal) = &session.refusal {
                    return Err(Error::new(ErrorKind::ReadOnly, refusal.clone()));
                }
                Ok(session.numbers.draw(table, position, 1)?.pop())
            }
            SequenceCall::Set => {
                if let Some(refusal) = &session.refusal {
                    return Err(Error::new(ErrorKind::ReadOnly, refusal.clone()));
                }
                let Some(number) = integer(arguments, 1, row) else { return Ok(None) };
                let is_called = match arguments.get(2) {
                    Some(flag) if flag.is_null(row) => return Ok(None),
                    Some(flag) => flag.as_boolean().value(row),
                    None => true,
                };
                session.numbers.set(table, position, number, is_called)?;
                Ok(Some(number))
            }
            _ => match session.numbers.last_of(table.id, column.id) {
                Some(last) => Ok(Some(last)),
                None => {
                    let name = name_in(name).map(|name| name.name).unwrap_or_default();
                    Err(sql_error(format!("currval of sequence \"{name}\" is not yet defined in this session")))
                }
            },
        }
    }

    /// The sequence of a column; `None` if it has none.
    fn sequence_of(&self, arguments: &[ArrayRef], row: usize) -> Result<Option<String>, Error> {
        let session = self.session().map_err(|error| Error::internal(error.to_string()))?;
        let (Some(name), Some(column)) = (text(arguments, 0, row), text(arguments, 1, row)) else { return Ok(None) };
        let table = name_in(name).and_then(|wanted| Scope::of(&session.snapshot).find(&wanted));
        let table = table.ok_or_else(|| sql_error(format!("no table named {name}")))?;
        let definition = &table.definition;
        let column = definition.column(column).map_err(crate::text::errors::as_sql_error)?;
        Ok(column.identity.map(|_| qualified_sequence_name(table, &column.name)))
    }
}

fn integer(arguments: &[ArrayRef], at: usize, row: usize) -> Option<i64> {
    let integers = arguments.get(at)?.as_primitive_opt::<Int64Type>()?;
    integers.is_valid(row).then(|| integers.value(row))
}

fn text(arguments: &[ArrayRef], at: usize, row: usize) -> Option<&str> {
    let texts = arguments.get(at)?.as_string_opt::<i32>()?;
    texts.is_valid(row).then(|| texts.value(row))
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &'static str {
        match self.kind {
            SequenceCall::Next => NEXT,
            SequenceCall::Current => "currval",
            SequenceCall::Last => "lastval",
            SequenceCall::Set => SET,
            SequenceCall::OfColumn => "pg_get_serial_sequence",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.kind == SequenceCall::OfColumn { DataType::Utf8 } else { DataType::Int64 })
    }

    /// A call with a constant sequence becomes one without arguments. DataFusion takes any other call with constant
    /// arguments for a constant itself, by which it does not sort.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match args.as_slice() {
            [Expr::Literal(ScalarValue::Utf8(Some(name)), _)] => {
                let function = ScalarUDF::new_from_impl(self.of_sequence(name));
                ExprSimplifyResult::Simplified(function.call(Vec::new()))
            }
            _ => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(name) = &self.sequence {
            args.args = vec![ColumnarValue::Scalar(ScalarValue::from(name.as_str()))];
        }
        let row_count = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.clone().into_array(row_count)).collect::<Result<Vec<_>>>()?;
        if self.kind == SequenceCall::OfColumn {
            let names = (0..row_count).map(|row| self.sequence_of(&arrays, row));
            let names = names.collect::<Result<Vec<_>, Error>>().map_err(external)?;
            return Ok(ColumnarValue::Array(Arc::new(StringArray::from(names))));
        }
        if self.kind == SequenceCall::Next
            && let (Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(name)))), 2..) = (args.args.first(), row_count)
        {
            return self.draw(name, row_count).map_err(external);
        }
        let values = (0..row_count).map(|row| self.value(&arrays, row));
        let values = values.collect::<Result<Vec<_>, Error>>().map_err(external)?;
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(values))))
    }
}

impl SequenceFunction {
    /// Numbers of one sequence for many rows.
    fn draw(&self, name: &str, row_count: usize) -> Result<ColumnarValue, Error> {
        let session = self.session().map_err(|error| Error::internal(error.to_string()))?;
        if let Some(refusal) = &session.refusal {
            return Err(Error::new(ErrorKind::ReadOnly, refusal.clone()));
        }
        let (table, position) =
            find_sequence(Scope::of(&session.snapshot), name).ok_or_else(|| unknown_sequence(name))?;
        let numbers = session.numbers.draw(table, position, row_count)?;
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(numbers))))
    }
}
