//! Functions that return another value each time they are called, and samples, which have other rows each time.

use super::errors::not_supported;
use super::tree_walk::visit;
use atsdb_core::Error;
use datafusion::sql::sqlparser::ast::{Expr, Ident, TableFactor, Visit, Visitor};
use std::ops::ControlFlow;

/// `clock_timestamp()` is none of them: it is the time at which the statement began.
const NAMES: [&str; 5] = ["gen_random_uuid", "nextval", "random", "setval", "uuid"];

/// Returns whether a part of a statement calls such a function, or reads a sample.
pub fn has_volatile_call(node: &impl Visit) -> bool {
    visit(node, &mut VolatileCalls).is_break()
}

struct VolatileCalls;

impl Visitor for VolatileCalls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_known = |name: &Ident| NAMES.iter().any(|known| name.value.eq_ignore_ascii_case(known));
        match expr {
            Expr::Function(call) if call.name.0.last().and_then(|part| part.as_ident()).is_some_and(is_known) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { sample: Some(_), .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The error of a call in an operand that is copied: each copy would have a different value.
pub fn repeated_call() -> Error {
    not_supported("random(), nextval() or the like in an operand that is computed more than once")
        .with_hint("compute it in a subquery: FROM (SELECT random() AS x) AS q")
}
