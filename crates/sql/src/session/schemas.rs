//! `CREATE SCHEMA` and `DROP SCHEMA`. A store has one schema for tables, `public`, which is also named `main`, and
//! those of the catalogue. So statements that ask for what holds anyway are accepted, and others are refused.

use super::state::Session;
use crate::run::answer::Answer;
use crate::text::errors::{not_supported, sql_error};
use atsdb_core::{Error, ErrorKind, Result};
use datafusion::sql::sqlparser::ast::{ObjectName, SchemaName};

/// The schemas that every store has.
const SCHEMAS: [&str; 5] = ["public", "main", "atsdb", "information_schema", "pg_catalog"];

impl Session {
    pub(super) fn create_schema(schema: &SchemaName, if_not_exists: bool) -> Result<Answer> {
        let name = match schema {
            SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => name.to_string(),
            SchemaName::UnnamedAuthorization(name) => name.to_string(),
        };
        match (exists(&name), if_not_exists) {
            (true, true) => Ok(Answer::Done { verb: "CREATE SCHEMA", row_count: None }),
            (true, false) => Err(Error::new(ErrorKind::Exists, format!("the schema {name} already exists"))
                .with_hint("CREATE SCHEMA IF NOT EXISTS leaves it as it is")),
            (false, _) => Err(not_supported("a schema besides public").with_hint(format!(
                "name the tables {0}_t instead of {0}.t, or keep them in a store of their own",
                name.trim_matches('"')
            ))),
        }
    }

    pub(super) fn drop_schemas(names: &[ObjectName], if_exists: bool) -> Result<Answer> {
        for name in names {
            let name = name.to_string();
            if exists(&name) {
                return Err(not_supported(format_args!("DROP SCHEMA {name}"))
                    .with_hint("every store has this schema: DROP its tables and views"));
            }
            if !if_exists {
                return Err(sql_error(format!("no schema named {name}")));
            }
        }
        Ok(Answer::Done { verb: "DROP SCHEMA", row_count: None })
    }
}

fn exists(name: &str) -> bool {
    SCHEMAS.iter().any(|schema| schema.eq_ignore_ascii_case(name.trim_matches('"')))
}
