//! The schemas of names that say none. They are written into the statement where it matters: with a search path other
//! than `public`, so that everything after the parser looks up such names in `public`; and where tables are in several
//! schemas, because for DataFusion a table `t` without a schema is also `s.t`.

use super::text_locations::{bytes_in_order, in_bytes, with_replaced};
use crate::text::quoted_names::quoted;
use crate::text::relations::relations_of;
use crate::text::sequence_names::{find_sequence, is_of_sequences, name_in};
use crate::text::table_names::{NamedSchema, OUTSIDE_PATH, Scope, TEMPORARY_SCHEMA, TableName};
use crate::text::tree_walk::{visit_expressions, visit_mut};
use crate::text::written_schemas::write_schema;
use atsdb_core::name::same_name;
use atsdb_core::{PUBLIC_SCHEMA, Table};
use atsdb_engine::TemporaryTables;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, TableFactor, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Location;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Writes schemas before the names of tables that say none.
pub(super) fn name_schemas(statement: &mut impl VisitMut, scope: Scope<'_>) {
    let is_elsewhere = |table: &Table| table.definition.schema.is_some() || TemporaryTables::contain(table);
    if !scope.path.is_public() || scope.tables.iter().any(is_elsewhere) {
        let _ = visit_mut(statement, &mut SchemaNaming { names_all: true, ..SchemaNaming::new(scope) });
    }
}

/// Writes schemas into each `t.*` that means a table `s.t`, which DataFusion does not find without it.
pub(super) fn name_schemas_of_stars(statement: &mut impl VisitMut) {
    let _ = visit_mut(statement, &mut StarNaming);
}

struct StarNaming;

impl VisitorMut for StarNaming {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let names: Vec<(&ObjectName, &Ident)> = relations_of(&select.from).filter_map(shown_name).collect();
        for item in &mut select.projection {
            let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(star), _) = item else {
                continue;
            };
            let [ObjectNamePart::Identifier(table)] = star.0.as_slice() else { continue };
            let mut meant = names.iter().filter(|(_, shown)| same_name(&shown.value, &table.value));
            if let (Some((name, _)), None) = (meant.next(), meant.next()) {
                *star = (*name).clone();
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name of a table in a statement, and the one by which its columns are named.
fn shown_name(relation: &TableFactor) -> Option<(&ObjectName, &Ident)> {
    match relation {
        TableFactor::Table { name, alias: None, args: None, .. } => Some((name, name.0.last()?.as_ident()?)),
        _ => None,
    }
}

/// The text of a statement with a query in it, in which names of tables and sequences say their schemas.
pub fn with_schemas(text: &str, query: &Query, scope: Scope<'_>) -> String {
    let mut naming = SchemaNaming::new(scope);
    if !scope.path.is_public() {
        let _ = visit_mut(&mut query.clone(), &mut naming);
    }
    let of_tables = naming.written.iter().map(|(at, schema)| (*at..*at, format!("{}.", quoted(schema))));
    let mut written = in_bytes(text, of_tables);
    // Tables without a schema are those of `public` in a view, but functions look sequences up in the path of the
    // session that calls them.
    let mut of_sequences = BTreeMap::new();
    let _ = visit_expressions(query, |expr| {
        if let Expr::Function(call) = expr {
            of_sequences.extend(schema_of_sequence(call, scope));
        }
        ControlFlow::<()>::Continue(())
    });
    let mut byte = bytes_in_order(text);
    for (location, schema) in of_sequences {
        let quote = byte(location);
        if text[quote..].starts_with('\'') {
            let name = quote + 1;
            written.push((name..name, format!("{}.", quoted(&schema)).replace('\'', "''")));
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    with_replaced(text, &written)
}

/// Returns the position in the text at which a call of a function of sequences names one without its schema, and that
/// schema. `None` for other calls.
fn schema_of_sequence(call: &Function, scope: Scope<'_>) -> Option<(Location, String)> {
    let function = call.name.0.last()?.as_ident()?;
    let FunctionArguments::List(list) = &call.args else { return None };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = list.args.first()? else { return None };
    let argument = match argument {
        Expr::Cast { expr, .. } => expr,
        other => other,
    };
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), span }) = argument else { return None };
    if !is_of_sequences(&function.value) || name_in(text)?.schema != NamedSchema::Unsaid {
        return None;
    }
    let (table, _) = find_sequence(scope, text)?;
    match TableName::of_table(table).schema {
        NamedSchema::Other(schema) => Some((span.start, schema)),
        NamedSchema::Public => Some((span.start, PUBLIC_SCHEMA.to_owned())),
        NamedSchema::Temporary | NamedSchema::Unsaid => None,
    }
}

struct SchemaNaming<'a> {
    scope: Scope<'a>,
    /// Whether `public` is written, too.
    names_all: bool,
    /// Names that the `WITH` of the query and of those around it define.
    own: Vec<String>,
    /// The number of names before each of the queries around.
    marks: Vec<usize>,
    /// The schemas that are missing in the text, by the positions at which they belong.
    written: BTreeMap<Location, String>,
}

impl<'a> SchemaNaming<'a> {
    fn new(scope: Scope<'a>) -> Self {
        Self { scope, names_all: false, own: Vec::new(), marks: Vec::new(), written: BTreeMap::new() }
    }

    /// The schema to write before a name. `None` if the name is to stay as it is, which also holds for functions.
    fn schema_of(&self, name: &str) -> Option<String> {
        let (name, scope) = (TableName::unsaid(name), self.scope);
        match scope.find(&name).map(|table| TableName::of_table(table).schema) {
            Some(NamedSchema::Other(schema)) => Some(schema),
            Some(NamedSchema::Public) if self.names_all => Some(PUBLIC_SCHEMA.to_owned()),
            Some(NamedSchema::Temporary) if self.names_all => Some(TEMPORARY_SCHEMA.to_owned()),
            Some(_) => None,
            // A table that only `public` has is not to be found.
            None => name.find(scope.tables).map(|_| OUTSIDE_PATH.to_owned()),
        }
    }
}

impl VisitorMut for SchemaNaming<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.marks.push(self.own.len());
        let Some(with) = &mut query.with else { return ControlFlow::Continue(()) };
        let names: Vec<String> = with.cte_tables.iter().map(|item| item.alias.name.value.clone()).collect();
        if with.recursive {
            self.own.extend(names);
            return ControlFlow::Continue(());
        }
        // An item sees those before it. When the walk comes to it later, its names say their schemas.
        for (item, name) in with.cte_tables.iter_mut().zip(names) {
            visit_mut(&mut item.query, self)?;
            self.own.push(name);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        let mark = self.marks.pop().unwrap_or_default();
        self.own.truncate(mark);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        let [ObjectNamePart::Identifier(table)] = name.0.as_slice() else { return ControlFlow::Continue(()) };
        if self.own.iter().any(|own| same_name(own, &table.value)) {
            return ControlFlow::Continue(());
        }
        if let Some(schema) = self.schema_of(&table.value) {
            self.written.insert(table.span.start, schema.clone());
            write_schema(name, schema);
        }
        ControlFlow::Continue(())
    }
}
