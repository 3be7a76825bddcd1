//! Ranges: PostgreSQL's types `int4range`, `int8range`, `numrange`, `tsrange`, `tstzrange` and `daterange`. Owned here:
//! [the values within ranges](element), [ranges](range) and [their text](range_text), [the functions](functions) of
//! ranges, [their calls](calls) and [what they compute](computed), and [conditions on a column](conditions) that stand
//! for a constant range.
//!
//! DataFusion sees ranges as texts in PostgreSQL's form. The order of the texts means nothing. Not owned: which
//! operators call these functions (`workarounds`).

pub(crate) mod calls;
mod computed;
mod conditions;
pub(crate) mod element;
pub(crate) mod functions;
mod range;
pub(crate) mod range_text;

use crate::functions::base::text_types::RangeType;
use calls::RangeCall;
use datafusion::prelude::SessionContext;
use functions::range_function;

pub(super) fn register(context: &SessionContext) {
    for of in RangeType::ALL {
        context.register_udf(range_function(RangeCall::Construct, Some(of)));
    }
    for call in RangeCall::NAMED {
        context.register_udf(range_function(call, None));
    }
}
