//! Network addresses: PostgreSQL's types `inet` and `cidr`. Owned here: [an address](address) and
//! [its text](address_text), [the functions](functions) of addresses, and [`min` and `max`](extremes) in their order.
//!
//! DataFusion sees addresses as texts. Each has one text in each of the two types, so equal texts are equal addresses;
//! the order of the texts means nothing. Not owned: which operators call these functions (`workarounds`).

pub(crate) mod address;
pub(crate) mod address_text;
pub(crate) mod extremes;
pub(crate) mod functions;

use datafusion::prelude::SessionContext;
use functions::{AddressCall, address_function};

pub(super) fn register(context: &SessionContext) {
    for call in AddressCall::NAMED {
        context.register_udf(address_function(call));
    }
}
