//! `current_schema` and `current_schemas`: the schemas in which a session looks up names that say none.

use atsdb_core::PUBLIC_SCHEMA;
use atsdb_engine::{ReadSnapshot, TemporaryTables};
use datafusion::arrow::array::{Array, AsArray, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The schemas in front of the search path, which it need not name.
const CATALOGUE: &str = "pg_catalog";

/// The functions for a statement; without a snapshot, for one that is only planned.
pub fn search_path_functions(snapshot: Option<&ReadSnapshot>) -> [ScalarUDF; 2] {
    let searched = Arc::new(snapshot.map(Searched::of).unwrap_or_default());
    [false, true].map(|is_list| ScalarUDF::new_from_impl(SchemaFunction::new(is_list, &searched)))
}

/// The schemas that exist.
#[derive(Debug, Default)]
struct Searched {
    path: Vec<String>,
    implied: Vec<String>,
}

impl Searched {
    fn of(snapshot: &ReadSnapshot) -> Self {
        let schemas = snapshot.schemas();
        let existing = snapshot.search_path().existing(&schemas).into_iter();
        let path = existing.map(|schema| schema.unwrap_or(PUBLIC_SCHEMA).to_owned()).collect();
        let temporary = snapshot.tables().iter().any(TemporaryTables::contain);
        let temporary = temporary.then_some(crate::text::table_names::TEMPORARY_SCHEMA);
        Self { path, implied: temporary.into_iter().chain([CATALOGUE]).map(str::to_owned).collect() }
    }
}

#[derive(Debug)]
struct SchemaFunction {
    is_list: bool,
    searched: Arc<Searched>,
    signature: Signature,
}

impl SchemaFunction {
    fn new(is_list: bool, searched: &Arc<Searched>) -> Self {
        let signature = match is_list {
            true => Signature::exact(vec![DataType::Boolean], Volatility::Volatile),
            false => Signature::nullary(Volatility::Volatile),
        };
        Self { is_list, searched: Arc::clone(searched), signature }
    }
}

impl PartialEq for SchemaFunction {
    fn eq(&self, other: &Self) -> bool {
        self.is_list == other.is_list
    }
}

impl Eq for SchemaFunction {}

impl Hash for SchemaFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_list.hash(state);
    }
}

impl ScalarUDFImpl for SchemaFunction {
    fn name(&self) -> &'static str {
        if self.is_list { "current_schemas" } else { "current_schema" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.is_list {
            true => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
            false => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let row_count = args.number_rows;
        let Searched { path, implied } = self.searched.as_ref();
        let Some(with_implied) = args.args.first() else {
            let names = std::iter::repeat_n(path.first(), row_count);
            return Ok(ColumnarValue::Array(Arc::new(names.collect::<StringArray>())));
        };
        let with_implied = with_implied.clone().into_array(row_count)?;
        let with_implied = with_implied.as_boolean();
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..row_count {
            let before: &[String] = if with_implied.is_valid(row) && with_implied.value(row) { implied } else { &[] };
            before.iter().chain(path).for_each(|name| lists.values().append_value(name));
            lists.append(with_implied.is_valid(row));
        }
        Ok(ColumnarValue::Array(Arc::new(lists.finish())))
    }
}
