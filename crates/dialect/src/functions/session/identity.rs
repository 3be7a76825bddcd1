//! `current_user`, `current_database` and their like: the user and the database of a session.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// The user and the database of sessions for which none were set.
const UNNAMED: &str = "atsdb";

/// The functions that return the user.
const OF_USER: [&str; 3] = ["current_role", "current_user", "session_user"];

/// The functions that return the database.
const OF_DATABASE: [&str; 2] = ["current_catalog", "current_database"];

/// The names of a session's user and database.
#[derive(Debug)]
pub struct SessionIdentity {
    /// The name of the user.
    pub user: String,
    /// The name of the database.
    pub database: String,
}

/// The functions for a session.
pub fn identity_functions(identity: Option<&SessionIdentity>) -> impl Iterator<Item = ScalarUDF> {
    let (user, database) = identity.map_or((UNNAMED, UNNAMED), |of| (of.user.as_str(), of.database.as_str()));
    let function = |name: &'static str, value: &str| {
        let signature = Signature::nullary(Volatility::Stable);
        ScalarUDF::new_from_impl(IdentityFunction { name, value: value.to_owned(), signature })
    };
    let of_user = OF_USER.map(|name| function(name, user));
    of_user.into_iter().chain(OF_DATABASE.map(|name| function(name, database)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IdentityFunction {
    name: &'static str,
    value: String,
    signature: Signature,
}

impl ScalarUDFImpl for IdentityFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::from(self.value.as_str())))
    }
}
