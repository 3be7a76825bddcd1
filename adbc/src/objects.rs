//! Tables, views and rollups, their columns and keys: `GetObjects`, `GetTableSchema`, `GetTableTypes`. A store has one
//! catalog.

use crate::constraints::constraints;
use crate::failure::{of_store, with_state};
use crate::link::execute;
use crate::nested::{lists, structs};
use crate::pattern::NamePattern;
use crate::xdbc::XdbcType;
use adbc_core::error::{Error as AdbcError, Result, Status};
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, GET_TABLE_TYPES_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA,
    TABLE_SCHEMA,
};
use atsdb::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int16Array, Int32Array, RecordBatch, StringArray, new_empty_array,
    new_null_array,
};
use atsdb::arrow::compute::{cast, concat};
use atsdb::arrow::datatypes::{DataType, SchemaRef};
use atsdb::name::unknown_name;
use atsdb::sql::{
    Answer, CATALOG, Session, TEMPORARY_SCHEMA, exact_name, name_in_catalogue, quoted, schema_in_catalogue,
};
use atsdb::{Error, ErrorKind, PUBLIC_SCHEMA, SearchPath, Table, TableDefinition, TemporaryTables};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The SQLSTATE for a schema that does not exist.
const NO_SCHEMA: &str = "3F000";

const TABLE_TYPES: [&str; 4] = ["table", "view", "rollup", "materialized view"];

fn table_type(definition: &TableDefinition) -> &'static str {
    match (&definition.view, &definition.rollup) {
        (Some(_), _) => "view",
        (None, Some(_)) => "rollup",
        (None, None) if definition.materialized.is_some() => "materialized view",
        (None, None) => "table",
    }
}

/// The filter for the objects to list.
pub(crate) struct ObjectFilter {
    catalog: NamePattern,
    schema: NamePattern,
    table: NamePattern,
    types: Option<Vec<String>>,
    column: NamePattern,
}

impl ObjectFilter {
    pub(crate) fn new(
        catalog: Option<&str>,
        schema: Option<&str>,
        table: Option<&str>,
        types: Option<Vec<&str>>,
        column: Option<&str>,
    ) -> Self {
        Self {
            catalog: NamePattern::new(catalog),
            schema: NamePattern::new(schema),
            table: NamePattern::new(table),
            types: types.map(|types| types.into_iter().map(str::to_owned).collect()),
            column: NamePattern::new(column),
        }
    }

    fn has_table(&self, definition: &TableDefinition) -> bool {
        let is_of =
            |wanted: &Vec<String>| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(table_type(definition)));
        // Change logs belong to tables and are not listed.
        definition.logs.is_none() && self.types.as_ref().is_none_or(is_of) && self.table.fits(definition.local_name())
    }
}

/// The types of tables.
pub(crate) fn table_types() -> atsdb::Result<RecordBatch> {
    let names = StringArray::from(TABLE_TYPES.to_vec());
    Ok(RecordBatch::try_new(Arc::clone(&GET_TABLE_TYPES_SCHEMA), vec![Arc::new(names)])?)
}

/// The objects down to some depth.
pub(crate) fn objects(session: &Session, depth: ObjectDepth, filter: &ObjectFilter) -> Result<RecordBatch> {
    let catalogs: Vec<&str> = [CATALOG].into_iter().filter(|name| filter.catalog.fits(name)).collect();
    let schemas = schemas(session, depth, filter, !catalogs.is_empty())?;
    let length = (depth != ObjectDepth::Catalogs).then_some(schemas.len());
    build(|| {
        let lengths = vec![length; catalogs.len()];
        let columns: [ArrayRef; 2] = [Arc::new(StringArray::from(catalogs)), lists(&lengths, schemas)?];
        Ok(RecordBatch::try_new(Arc::clone(&GET_OBJECTS_SCHEMA), columns.into())?)
    })
}

fn build<T>(work: impl FnOnce() -> atsdb::Result<T>) -> Result<T> {
    work().map_err(of_store)
}

fn schemas(session: &Session, depth: ObjectDepth, filter: &ObjectFilter, has_catalog: bool) -> Result<ArrayRef> {
    if depth == ObjectDepth::Catalogs || !has_catalog {
        return Ok(new_empty_array(&OBJECTS_DB_SCHEMA_SCHEMA));
    }
    let mut names = vec![PUBLIC_SCHEMA.to_owned()];
    names.extend(session.schemas().map_err(of_store)?);
    if session.tables().map_err(of_store)?.iter().any(TemporaryTables::contain) {
        names.push(TEMPORARY_SCHEMA.to_owned());
    }
    names.retain(|name| filter.schema.fits(name));
    let (mut lengths, mut parts) = (Vec::new(), vec![new_empty_array(&TABLE_SCHEMA)]);
    for name in &names {
        lengths.push(match depth {
            ObjectDepth::Schemas => None,
            _ => {
                parts.push(tables(session, name, depth != ObjectDepth::Tables, filter)?);
                parts.last().map(|tables| tables.len())
            }
        });
    }
    build(|| {
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        let names = Arc::new(StringArray::from(names));
        structs(&OBJECTS_DB_SCHEMA_SCHEMA, vec![names, lists(&lengths, concat(&parts)?)?])
    })
}

fn tables(session: &Session, schema: &str, with_columns: bool, filter: &ObjectFilter) -> Result<ArrayRef> {
    let tables = session.tables().map_err(of_store)?;
    let is_listed = |table: &&Table| {
        let definition = &table.definition;
        schema_in_catalogue(table) == schema && !definition.sequence && filter.has_table(definition)
    };
    let mut in_schema: Vec<&Table> = tables.iter().filter(is_listed).collect();
    in_schema.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
    let definitions: Vec<&TableDefinition> = in_schema.iter().map(|table| &table.definition).collect();
    let names: Vec<&str> = definitions.iter().map(|definition| definition.local_name()).collect();
    let (columns, constraints) = match with_columns && !names.is_empty() {
        true => (columns(session, &in_schema, filter)?, build(|| constraints(&definitions))?),
        false => {
            let none = vec![None; names.len()];
            (none_of(&none, &COLUMN_SCHEMA)?, none_of(&none, &CONSTRAINT_SCHEMA)?)
        }
    };
    let types = StringArray::from_iter_values(definitions.iter().map(|definition| table_type(definition)));
    build(|| structs(&TABLE_SCHEMA, vec![Arc::new(StringArray::from(names)), Arc::new(types), columns, constraints]))
}

fn none_of(lengths: &[Option<usize>], data_type: &DataType) -> Result<ArrayRef> {
    build(|| lists(lengths, new_empty_array(data_type)))
}

/// A row of a query about the catalogue, as texts.
type TextRow = Vec<Option<String>>;

/// The rows of a query about the catalogue by the first column, which is the name of a table.
fn rows_by_table(session: &Session, query: &str) -> Result<BTreeMap<String, Vec<TextRow>>> {
    let mut by_table: BTreeMap<String, Vec<TextRow>> = BTreeMap::new();
    let Answer::Rows(rows) = execute(session, query)? else { return Ok(by_table) };
    for batch in rows {
        let batch = batch.map_err(of_store)?;
        let texts = batch.columns().iter().map(|column| Ok(cast(column, &DataType::Utf8)?));
        let texts = texts.collect::<atsdb::Result<Vec<_>>>().map_err(of_store)?;
        for row in 0..batch.num_rows() {
            let text = |column: &ArrayRef| {
                let texts = column.as_string::<i32>();
                texts.is_valid(row).then(|| texts.value(row).to_owned())
            };
            let mut cells = texts.iter().map(text);
            let table = cells.next().flatten().unwrap_or_default();
            by_table.entry(table).or_default().push(cells.collect());
        }
    }
    Ok(by_table)
}

/// The condition that a column has this text. It is for one table: of several, all rows are read.
fn only(column: &str, texts: &[&str]) -> String {
    match texts {
        [text] => format!("{column} = '{}'", text.replace('\'', "''")),
        _ => "true".to_owned(),
    }
}

fn columns(session: &Session, tables: &[&Table], filter: &ObjectFilter) -> Result<ArrayRef> {
    let names: Vec<Cow<'_, str>> = tables.iter().map(|table| name_in_catalogue(table)).collect();
    let local_names: Vec<&str> = tables.iter().map(|table| table.definition.local_name()).collect();
    let is_it = only("c.table_name", &local_names);
    let is_asked = only("a.table_name", &names.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    // The SQL standard has no materialized views.
    let query = format!(
        "SELECT a.table_name, a.column_name, a.position, a.default_value, CASE WHEN a.nullable THEN 'YES' ELSE 'NO' END, \
         a.type, COALESCE(c.numeric_precision, c.character_maximum_length), c.numeric_precision_radix, \
         c.numeric_scale, c.datetime_precision, CASE WHEN t.type IS NULL THEN a.type ELSE 'TEXT' END, c.is_identity, \
         c.character_octet_length FROM atsdb.columns a \
         LEFT JOIN information_schema.columns c ON {is_it} AND c.column_name = a.column_name AND a.table_name = \
         CASE c.table_schema WHEN '{PUBLIC_SCHEMA}' THEN c.table_name ELSE c.table_schema || '.' || c.table_name END \
         LEFT JOIN atsdb.types t ON t.type = a.type WHERE {is_asked} ORDER BY a.table_name, a.position"
    );
    let mut by_table = rows_by_table(session, &query)?;
    let (mut lengths, mut rows) = (Vec::new(), Vec::new());
    for name in &names {
        let mut of_table = by_table.remove(name.as_ref()).unwrap_or_default();
        of_table.retain(|row| filter.column.fits(row[0].as_deref().unwrap_or_default()));
        lengths.push(Some(of_table.len()));
        rows.append(&mut of_table);
    }
    build(|| lists(&lengths, column_structs(&rows)?))
}

/// The columns of ADBC from name, position, default, nullability, type, precision or length, radix, scale, digits of a
/// second, the type whose numbers they have, whether they number the rows, and the bytes of the longest text.
fn column_structs(rows: &[TextRow]) -> atsdb::Result<ArrayRef> {
    let texts =
        |at: usize| -> ArrayRef { Arc::new(rows.iter().map(|row| row[at].as_deref()).collect::<StringArray>()) };
    let number = |row: &TextRow, at: usize| row[at].as_deref().and_then(|text| text.parse::<i16>().ok());
    let shorts = |value: &dyn Fn(&TextRow) -> Option<i16>| -> ArrayRef {
        Arc::new(rows.iter().map(value).collect::<Int16Array>())
    };
    let ints = |at: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row[at].as_deref().and_then(|text| text.parse().ok())).collect::<Int32Array>())
    };
    let none = |data_type: DataType| new_null_array(&data_type, rows.len());
    let bools = |value: &dyn Fn(&TextRow) -> bool| -> ArrayRef {
        Arc::new(BooleanArray::from(rows.iter().map(value).collect::<Vec<_>>()))
    };
    let xdbc = |row: &TextRow| XdbcType::of(row[9].as_deref().unwrap_or_default());
    structs(
        &COLUMN_SCHEMA,
        vec![
            texts(0),
            ints(1),
            none(DataType::Utf8),
            shorts(&|row| xdbc(row).map(|xdbc| xdbc.data_type)),
            texts(4),
            ints(5),
            shorts(&|row| number(row, 7).or(number(row, 8))),
            shorts(&|row| number(row, 6)),
            shorts(&|row| Some(i16::from(row[3].as_deref() == Some("YES")))),
            texts(2),
            shorts(&|row| xdbc(row).map(|xdbc| xdbc.sql_data_type)),
            shorts(&|row| xdbc(row).and_then(|xdbc| xdbc.datetime_sub)),
            ints(11),
            texts(3),
            none(DataType::Utf8),
            none(DataType::Utf8),
            none(DataType::Utf8),
            bools(&|row| row[10].as_deref() == Some("YES")),
            bools(&|_| false),
        ],
    )
}

/// The schema of a table, a view, a rollup or a table of the catalogue.
pub(crate) fn table_schema(
    session: &Session,
    catalog: Option<&str>,
    schema: Option<&str>,
    table: &str,
) -> Result<SchemaRef> {
    let is = |found: Option<&str>, only: &str| found.is_none_or(|found| found.is_empty() || found == only);
    if !is(catalog, CATALOG) {
        let message = format!("there is no catalog {}", catalog.unwrap_or_default());
        return Err(with_state(Status::NotFound, "3D000", message));
    }
    if is(schema, PUBLIC_SCHEMA) {
        let named_schema = schema.filter(|schema| !schema.is_empty());
        let found = if named_schema.is_none() && session.search_path().is_public() {
            // The name may begin with another schema.
            session.table_named(table).map_err(of_store)?
        } else {
            session.find_table(named_schema, table).map_err(missing)?
        };
        return match found.definition.view {
            Some(_) => schema_of_query(session, &exact_name(&found)).map_err(of_store),
            None => Ok(atsdb::arrow_schema(&found.definition)),
        };
    }
    let place = format!("{}.{}", quoted(schema.unwrap_or_default()), quoted(table));
    schema_of_query(session, &place).map_err(missing)
}

/// The error for a table that SQL does not find.
fn missing(error: Error) -> AdbcError {
    match error.kind() {
        ErrorKind::Sql => with_state(Status::NotFound, ErrorKind::NotFound.sqlstate(), error.to_string()),
        _ => of_store(error),
    }
}

/// The schema with a name, spelled as it was created; `None` is `public`.
pub(crate) fn find_schema(session: &Session, name: &str) -> Result<Option<String>> {
    let schemas = session.schemas().map_err(of_store)?;
    match SearchPath::new(vec![name.to_owned()]).current(&schemas) {
        Some(found) => Ok(found.map(str::to_owned)),
        None => {
            let names = schemas.iter().map(String::as_str).chain([PUBLIC_SCHEMA]);
            Err(with_state(Status::NotFound, NO_SCHEMA, unknown_name("schema", name, names).to_string()))
        }
    }
}

/// The error for a search path without a schema that exists.
pub(crate) fn no_current_schema() -> AdbcError {
    with_state(Status::NotFound, NO_SCHEMA, "none of the schemas of the search path exists: set another one")
}

fn schema_of_query(session: &Session, from: &str) -> atsdb::Result<SchemaRef> {
    let prepared = session.prepare(&format!("SELECT * FROM {from}"), &[])?;
    prepared.schema().cloned().ok_or_else(|| atsdb::Error::internal(format!("{from} has no columns")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adbc_core::schemas::GET_OBJECTS_SCHEMA;

    fn session() -> Session {
        let database = atsdb::open("memory:").unwrap();
        let session = database.session(atsdb::sql::SessionOptions::default()).unwrap();
        for statement in [
            "CREATE TABLE air (time TIMESTAMP(3), sensor TEXT, pm10 REAL DEFAULT 0, PRIMARY KEY (sensor, time), \
             UNIQUE (pm10)) WITH (time = 'time', map = 'sensor:u16')",
            "CREATE VIEW last AS SELECT sensor, max(pm10) AS pm10 FROM air GROUP BY sensor",
        ] {
            execute(&session, statement).unwrap();
        }
        session
    }

    fn listed(depth: ObjectDepth, filter: &ObjectFilter) -> String {
        let batch = objects(&session(), depth, filter).unwrap();
        assert_eq!(batch.schema_ref(), &*GET_OBJECTS_SCHEMA);
        let column = batch.column(1);
        let rows = (0..batch.num_rows())
            .map(|row| atsdb::arrow::util::display::array_value_to_string(column.as_ref(), row).unwrap());
        rows.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_depth_lists_what_it_has_and_no_more() {
        let all = ObjectFilter::new(None, None, None, None, None);
        assert_eq!(listed(ObjectDepth::Catalogs, &all), "");
        assert_eq!(listed(ObjectDepth::Schemas, &all), "[{db_schema_name: public, db_schema_tables: }]");
        let tables = listed(ObjectDepth::Tables, &all);
        assert!(
            tables.contains("{table_name: air, table_type: table, table_columns: , table_constraints: }"),
            "{tables}"
        );
        assert!(tables.contains("table_name: last, table_type: view"), "{tables}");
        let columns = listed(ObjectDepth::All, &all);
        for part in [
            "column_name: time, ordinal_position: 1, remarks: , xdbc_data_type: 93, xdbc_type_name: TIMESTAMP(3)",
            "constraint_type: PRIMARY KEY, constraint_column_names: [sensor, time]",
            "constraint_type: UNIQUE, constraint_column_names: [pm10]",
        ] {
            assert!(columns.contains(part), "{part} in {columns}");
        }
    }

    #[test]
    fn constraints_are_listed_with_the_columns_that_foreign_keys_refer_to() {
        let session = session();
        for statement in [
            "CREATE TYPE mood AS ENUM ('bad', 'good')",
            "CREATE SCHEMA lab",
            "CREATE TABLE lab.sensors (name VARCHAR(20), place INT, mood mood, PRIMARY KEY (place, name))",
            "CREATE TABLE lab.visits (id INT GENERATED ALWAYS AS IDENTITY, sensor TEXT, place INT, \
             CONSTRAINT somewhere CHECK (place > 0), \
             CONSTRAINT visited FOREIGN KEY (sensor, place) REFERENCES lab.sensors (name, place))",
            "CREATE MATERIALIZED VIEW lab.places AS SELECT place, count(*) AS visits FROM lab.visits GROUP BY place",
            "CREATE TEMPORARY TABLE air (note TEXT)",
        ] {
            execute(&session, statement).unwrap();
        }
        let listed = |schema| {
            let batch = objects(&session, ObjectDepth::All, &ObjectFilter::new(None, Some(schema), None, None, None));
            atsdb::arrow::util::display::array_value_to_string(batch.unwrap().column(1).as_ref(), 0).unwrap()
        };
        let lab = listed("lab");
        let used =
            |column| format!("{{fk_catalog: atsdb, fk_db_schema: lab, fk_table: sensors, fk_column_name: {column}}}");
        for part in [
            "{constraint_name: somewhere, constraint_type: CHECK, constraint_column_names: [place], \
             constraint_column_usage: }"
                .to_owned(),
            format!(
                "{{constraint_name: visited, constraint_type: FOREIGN KEY, constraint_column_names: [sensor, place], \
                 constraint_column_usage: [{}, {}]}}",
                used("name"),
                used("place")
            ),
            // A type of one's own has the numbers of texts.
            "column_name: mood, ordinal_position: 3, remarks: , xdbc_data_type: 12, xdbc_type_name: mood".to_owned(),
            "table_name: places, table_type: materialized view, table_columns: [{column_name: place".to_owned(),
            "xdbc_data_type: 12, xdbc_type_name: VARCHAR(20), xdbc_column_size: 20".to_owned(),
            "xdbc_char_octet_length: 80".to_owned(),
            "xdbc_is_autoincrement: true".to_owned(),
        ] {
            assert!(lab.contains(&part), "{part} in {lab}");
        }
        let (own, temporary) = (listed("public"), listed("pg_temp"));
        assert!(own.contains("pm10") && !own.contains("column_name: note"), "{own}");
        assert!(temporary.contains("column_name: note") && !temporary.contains("pm10"), "{temporary}");
    }

    #[test]
    fn filters_leave_out_objects_and_keep_what_holds_them() {
        let all = ObjectDepth::All;
        assert_eq!(listed(all, &ObjectFilter::new(Some("other"), None, None, None, None)), "");
        assert_eq!(listed(all, &ObjectFilter::new(None, Some("other"), None, None, None)), "[]");
        let views = listed(all, &ObjectFilter::new(None, None, None, Some(vec!["VIEW"]), None));
        assert!(views.contains("last") && !views.contains("air,"), "{views}");
        let column = listed(all, &ObjectFilter::new(None, None, Some("AI%"), None, Some("pm__")));
        assert!(column.contains("column_name: pm10") && !column.contains("column_name: time"), "{column}");
        assert!(!column.contains("table_name: last"), "{column}");
    }

    #[test]
    fn a_schema_is_that_of_a_table_a_view_or_the_catalogue() {
        let session = session();
        let of = |schema, table| table_schema(&session, None, schema, table);
        assert_eq!(of(None, "AIR").unwrap().fields().len(), 3);
        assert_eq!(of(Some("public"), "last").unwrap().field(1).name(), "pm10");
        assert!(of(Some("information_schema"), "tables").unwrap().fields().len() > 3);
        for (schema, table) in [(None, "none"), (Some("other"), "air"), (Some("atsdb"), "none")] {
            assert_eq!(of(schema, table).unwrap_err().status, Status::NotFound, "{schema:?} {table}");
        }
        assert_eq!(table_schema(&session, Some("x"), None, "air").unwrap_err().status, Status::NotFound);
    }
}
