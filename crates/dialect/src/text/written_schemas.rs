//! Schemas that are written into a parsed statement, before names of tables without one. Each is marked, because the
//! columns of an answer are named as in the statement's text, which does not have these schemas. Not owned: where they
//! are written (`named_schemas`).

use super::tree_walk::{visit_mut, visit_relations};
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind, Visit, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::{Location, Span};
use std::ops::ControlFlow;

/// The position of written schemas. No token of a text is there, because lines are counted from 1.
const NOWHERE: Span = Span { start: Location { line: 0, column: 1 }, end: Location { line: 0, column: 1 } };

/// Writes a schema before a name.
pub fn write_schema(name: &mut ObjectName, schema: String) {
    name.0.insert(0, ObjectNamePart::Identifier(Ident::with_quote_and_span('"', NOWHERE, schema)));
}

/// Removes the written schemas.
pub fn remove_written(node: &mut impl VisitMut) {
    let _: ControlFlow<()> = visit_mut(node, &mut Removal);
}

/// The names of tables with a written schema.
pub fn written_names(node: &impl Visit) -> Vec<WrittenName> {
    let mut names = Vec::new();
    let _: ControlFlow<()> = visit_relations(node, |name| {
        if let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] = name.0.as_slice()
            && schema.span == NOWHERE
        {
            names.push(WrittenName { schema: schema.value.clone(), table: table.value.clone() });
        }
        ControlFlow::Continue(())
    });
    names
}

/// The name of a table with a written schema.
#[derive(Debug)]
pub struct WrittenName {
    schema: String,
    table: String,
}

impl WrittenName {
    /// DataFusion's name of an expression, in which columns of the table do not have the schema.
    pub fn remove_from(&self, expression: &str) -> String {
        let short = format!("{}.", self.table);
        let written = format!("{}.{short}", self.schema);
        let (mut out, mut rest) = (String::new(), expression);
        while let Some(at) = rest.find(&written) {
            let (before, found) = rest.split_at(at);
            out.push_str(before);
            let continues_a_name =
                out.chars().next_back().is_some_and(|last| last.is_alphanumeric() || matches!(last, '_' | '.'));
            out.push_str(if continues_a_name { &written } else { &short });
            rest = &found[written.len()..];
        }
        out + rest
    }
}

struct Removal;

impl VisitorMut for Removal {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        remove_from_name(name);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(star), _) = item {
                remove_from_name(star);
            }
        }
        ControlFlow::Continue(())
    }
}

fn remove_from_name(name: &mut ObjectName) {
    if matches!(name.0.first(), Some(ObjectNamePart::Identifier(schema)) if schema.span == NOWHERE) {
        name.0.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_schema_is_removed_from_the_names_of_columns() {
        let name = WrittenName { schema: "public".to_owned(), table: "t".to_owned() };
        for (expression, shown) in [
            ("max(public.t.x) + Int64(1)", "max(t.x) + Int64(1)"),
            ("public.t.x + public.t.y", "t.x + t.y"),
            ("public.tt.x + my_public.t.y + s.public.t.z", "public.tt.x + my_public.t.y + s.public.t.z"),
            ("x", "x"),
        ] {
            assert_eq!(name.remove_from(expression), shown);
        }
    }
}
