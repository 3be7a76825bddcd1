//! PostgreSQL's functions about the session and the catalogue.

use super::casts::{cast_to, no_such};
use super::context::{Context, Purpose};
use super::databases::database_size;
use super::find_row::by_number;
use super::index_properties::{has_column_property, has_index_property, has_method_property};
use super::lookup::{description, expression, format_type, is_visible_type, name_of, number_of, sequence_of};
use super::privileges::{default_privileges, has_privilege, has_role};
use super::procedures::AMBIGUOUS_FUNCTION;
use super::result_types::{is_condition, is_present_time, is_statistic};
use super::search_path::{is_visible, searched};
use super::value::Value;
use super::value_functions::of_values;
use super::view_text::with_schemas;
use crate::pg::error::{PgError, Severity};
use crate::shared::clock;
use atsdb::PUBLIC_SCHEMA;
use atsdb::sql::{pretty_size, version_text};

/// Returns whether a name is a function that is called without parentheses.
pub(super) fn special_name(name: &str) -> bool {
    ["current_user", "session_user", "user", "current_role", "current_catalog", "current_schema"].contains(&name)
}

/// Functions about the server. A query without a table that calls one is answered by the catalogue.
pub(super) const ABOUT_THE_SERVER: [&str; 81] = [
    "version",
    "current_database",
    "current_schema",
    "current_schemas",
    "current_user",
    "session_user",
    "user",
    "current_role",
    "current_catalog",
    "current_setting",
    "set_config",
    "pg_backend_pid",
    "pg_cancel_backend",
    "pg_export_snapshot",
    "pg_terminate_backend",
    "pg_is_in_recovery",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_blocking_pids",
    "pg_postmaster_start_time",
    "pg_conf_load_time",
    "pg_my_temp_schema",
    "pg_get_userbyid",
    "pg_encoding_to_char",
    "pg_client_encoding",
    "inet_client_addr",
    "inet_client_port",
    "inet_server_addr",
    "inet_server_port",
    "pg_table_is_visible",
    "pg_get_expr",
    "pg_get_viewdef",
    "pg_get_indexdef",
    "pg_get_constraintdef",
    "pg_get_keywords",
    "pg_relation_size",
    "pg_table_size",
    "pg_total_relation_size",
    "pg_indexes_size",
    "pg_database_size",
    "format_type",
    "obj_description",
    "col_description",
    "shobj_description",
    "has_table_privilege",
    "has_schema_privilege",
    "has_database_privilege",
    "has_column_privilege",
    "has_any_column_privilege",
    "pg_has_role",
    "has_sequence_privilege",
    "has_function_privilege",
    "has_type_privilege",
    "has_language_privilege",
    "has_tablespace_privilege",
    "pg_type_is_visible",
    "pg_function_is_visible",
    "pg_char_to_encoding",
    "pg_tablespace_size",
    "getdatabaseencoding",
    "to_regclass",
    "to_regtype",
    "to_regrole",
    "to_regnamespace",
    "to_regproc",
    "to_regprocedure",
    "pg_get_functiondef",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_index_column_has_property",
    "pg_index_has_property",
    "pg_indexam_has_property",
    "quote_ident",
    "regclass",
    "regnamespace",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// Returns whether a query without a table that calls this function concerns the server.
pub(in crate::pg) fn is_about_the_server(name: &str) -> bool {
    ABOUT_THE_SERVER.contains(&name)
}

/// The functions of one subject. `None` for another function.
type Subject = fn(&Context<'_>, &str, &[Value]) -> Result<Option<Value>, PgError>;

/// The subjects, the most special names first.
const SUBJECTS: [Subject; 5] = [of_session, of_names, of_definitions, of_sizes, of_privileges];

/// Calls a function.
pub(super) fn call(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Value, PgError> {
    for subject in SUBJECTS {
        if let Some(value) = subject(context, name, arguments)? {
            return Ok(value);
        }
    }
    of_values(context, name, arguments)
}

/// Functions about the server, the session and its settings.
fn of_session(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, PgError> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Null);
    let text = |at: usize| argument(at).shown();
    Ok(Some(match name {
        "version" => Value::Text(version_text()),
        name if is_present_time(name) => Value::Time(clock::wall_ns().div_euclid(1_000)),
        // Settings are read only at the start.
        "pg_postmaster_start_time" | "pg_conf_load_time" => {
            Value::Time(context.activity.started_ns().div_euclid(1_000))
        }
        // Statements do not wait for locks of others.
        "pg_blocking_pids" => Value::Array(Vec::new()),
        "current_database" | "current_catalog" => Value::text(context.database),
        "current_schema" => Value::maybe(searched(context, false)?.into_iter().next()),
        "current_schemas" => {
            Value::Array(searched(context, argument(0).is_true())?.into_iter().map(Value::Text).collect())
        }
        "current_user" | "session_user" | "user" | "current_role" => Value::text(context.user),
        "pg_get_userbyid" => match by_number(context, ("pg_catalog", "pg_roles"), argument(0), "rolname")? {
            Value::Null => text(0).map_or(Value::Null, |number| Value::Text(format!("unknown (OID={number})"))),
            name => name,
        },
        "pg_encoding_to_char" | "getdatabaseencoding" | "pg_client_encoding" => Value::text("UTF8"),
        "pg_char_to_encoding" => Value::Int(6),
        "pg_backend_pid" => Value::Int(i64::from(context.process)),
        "pg_cancel_backend" | "pg_terminate_backend" => end_process(context, name, arguments)?,
        "pg_export_snapshot" if context.purpose == Purpose::Columns => Value::Null,
        "pg_export_snapshot" => Value::Text(context.activity.export_snapshot()?),
        // Its value may be set before the query is executed.
        "current_setting" if context.purpose == Purpose::Columns => Value::Null,
        "current_setting" => {
            let (Some(setting), is_missing_ok) = (text(0), argument(1).is_true()) else { return Ok(Some(Value::Null)) };
            let settings = context.settings.borrow();
            match settings.get(&setting) {
                Some(value) => Value::text(value),
                None if is_missing_ok => Value::Null,
                None => Value::text(settings.show(&setting)?),
            }
        }
        "set_config" => {
            let (Some(setting), Some(value)) = (text(0), text(1)) else { return Ok(Some(Value::Null)) };
            context.settings.borrow_mut().set(&setting, Some(&value))?;
            context.changed.borrow_mut().push((setting, value.clone(), argument(2).is_true()));
            Value::Text(value)
        }
        "pg_my_temp_schema" => Value::Int(0),
        "pg_last_wal_receive_lsn"
        | "pg_last_wal_replay_lsn"
        | "pg_last_xact_replay_timestamp"
        | "inet_server_addr"
        | "inet_client_addr"
        | "inet_server_port"
        | "inet_client_port" => Value::Null,
        "pg_is_in_recovery" | "pg_is_other_temp_schema" | "pg_relation_is_publishable" => Value::Bool(false),
        _ => return Ok(None),
    }))
}

/// Functions about the names of objects, and the numbers of names.
fn of_names(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, PgError> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Null);
    let text = |at: usize| argument(at).shown();
    Ok(Some(match name {
        "format_type" => format_type(context, argument(0), argument(1))?,
        // A call of a type by its name is a cast.
        "regclass" | "regnamespace" | "regproc" | "regprocedure" | "regrole" | "regtype" => {
            cast_to(context, argument(0).clone(), name)?
        }
        "to_regclass" => named(context, "regclass", text(0))?,
        "to_regtype" => match text(0) {
            Some(name) => match number_of(context, "regtype", &name)? {
                Some(number) => Value::Named(number, name_of(context, "regtype", number)?.unwrap_or_default()),
                None => Value::Null,
            },
            None => Value::Null,
        },
        "to_regrole" => named(context, "regrole", text(0))?,
        "to_regnamespace" => named(context, "regnamespace", text(0))?,
        "to_regproc" | "to_regprocedure" => match named(context, name.trim_start_matches("to_"), text(0)) {
            Err(error) if error.code == AMBIGUOUS_FUNCTION => Value::Null,
            found => found?,
        },
        "pg_table_is_visible" => is_visible(context, argument(0))?,
        "pg_type_is_visible" => is_visible_type(context, argument(0))?,
        _ => return Ok(None),
    }))
}

/// Functions about the definitions and descriptions of objects.
fn of_definitions(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, PgError> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Null);
    Ok(Some(match name {
        "pg_get_expr" => expression(context, argument(0))?,
        "pg_get_constraintdef" => {
            let definition = by_number(context, ("internal", "constraints"), argument(0), "definition")?;
            match (definition, argument(1)) {
                (Value::Text(definition), Value::Bool(true)) => Value::Text(without_spare_parentheses(definition)),
                (definition, _) => definition,
            }
        }
        "pg_get_indexdef" => match argument(1).int() {
            None | Some(0) => by_number(context, ("internal", "indexes"), argument(0), "definition")?,
            Some(column) => match by_number(context, ("internal", "indexes"), argument(0), "columns")? {
                Value::Array(columns) => {
                    let at = column.checked_sub(1).and_then(|at| usize::try_from(at).ok());
                    at.and_then(|at| columns.get(at).cloned()).unwrap_or(Value::Null)
                }
                _ => Value::Null,
            },
        },
        "pg_get_viewdef" => {
            let number = match argument(0) {
                Value::Text(name) => number_of(context, "regclass", name)?.map_or(Value::Null, Value::Int),
                number => number.clone(),
            };
            match by_number(context, ("internal", "views"), &number, "definition")? {
                // Names without a schema are those of `public`.
                Value::Text(query) if !searched(context, false)?.iter().any(|schema| schema == PUBLIC_SCHEMA) => {
                    Value::Text(with_schemas(&query).map_or(query, |query| format!(" {query};")))
                }
                definition => definition,
            }
        }
        "obj_description" => description(context, argument(0), argument(1))?,
        "pg_get_function_result" => by_number(context, ("internal", "functions"), argument(0), "result")?,
        "pg_get_function_arguments" | "pg_get_function_identity_arguments" => {
            by_number(context, ("internal", "functions"), argument(0), "arguments")?
        }
        "pg_get_functiondef" => source_of(context, argument(0))?,
        "pg_get_serial_sequence" => sequence_of(context, argument(0), argument(1))?,
        "col_description"
        | "shobj_description"
        | "pg_tablespace_location"
        | "pg_get_partkeydef"
        | "pg_get_triggerdef"
        | "pg_get_ruledef"
        | "pg_get_statisticsobjdef"
        | "pg_get_statisticsobjdef_columns"
        | "pg_get_partition_constraintdef"
        | "pg_relation_filenode" => Value::Null,
        _ => return Ok(None),
    }))
}

/// Functions about sizes in bytes.
fn of_sizes(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, PgError> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Null);
    Ok(Some(match name {
        "pg_relation_size" if arguments.len() > 1 => size_of_fork(context, argument(0), argument(1))?,
        "pg_relation_size" | "pg_table_size" | "pg_total_relation_size" => size(context, argument(0))?,
        "pg_indexes_size" => Value::Int(0),
        "pg_database_size" => database_size(context, argument(0))?,
        // The database is in the only tablespace.
        "pg_tablespace_size" if argument(0).is_null() => Value::Null,
        "pg_tablespace_size" => database_size(context, &Value::text(context.database))?,
        "pg_size_pretty" => argument(0).int().map_or(Value::Null, |bytes| Value::Text(pretty_size(bytes))),
        _ => return Ok(None),
    }))
}

/// Functions about privileges and properties, and those that a part of their name says.
fn of_privileges(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, PgError> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Null);
    Ok(Some(match name {
        "acldefault" => default_privileges(context, argument(0), argument(1))?,
        "pg_index_column_has_property" => has_column_property(context, arguments)?,
        "pg_index_has_property" => has_index_property(context, arguments)?,
        "pg_indexam_has_property" => has_method_property(arguments),
        "pg_has_role" => has_role(context, arguments)?,
        // The store does not count them.
        name if is_statistic(name) => Value::Null,
        name if name.starts_with("has_") => has_privilege(context, name, arguments)?,
        name if is_condition(name) && name != "starts_with" => Value::Bool(true),
        _ => return Ok(None),
    }))
}

/// The statement that creates a function. Always NULL or an error: all functions are part of the program.
fn source_of(context: &Context<'_>, number: &Value) -> Result<Value, PgError> {
    let of = |column: &str| by_number(context, ("pg_catalog", "pg_proc"), number, column);
    match (of("proname")?.shown(), of("prokind")?.shown().as_deref()) {
        (None, _) => Ok(Value::Null),
        (Some(name), Some("a")) => Err(PgError::error("42809", format!("\"{name}\" is an aggregate function"))),
        (Some(name), _) => {
            Err(PgError::not_supported(format_args!("the source of {name}, which is part of the program")))
        }
    }
}

/// Interrupts the statement of a process, or ends its session.
fn end_process(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Value, PgError> {
    let [process] = arguments else {
        return Err(PgError::error("42883", format!("function {name} does not exist with these arguments")));
    };
    if process.is_null() || context.purpose == Purpose::Columns {
        return Ok(Value::Null);
    }
    let number = process.int().and_then(|number| i32::try_from(number).ok());
    let number = number.ok_or_else(|| PgError::error("22003", "integer out of range"))?;
    let is_there = match name {
        "pg_cancel_backend" => context.activity.cancel(number)?,
        _ => context.activity.terminate(number)?,
    };
    if !is_there {
        let message = format!("PID {number} is not a PostgreSQL backend process");
        context.notices.borrow_mut().push(PgError::new(Severity::Warning, "01000", message));
    }
    Ok(Value::Bool(is_there))
}

fn named(context: &Context<'_>, kind: &str, name: Option<String>) -> Result<Value, PgError> {
    let Some(name) = name else { return Ok(Value::Null) };
    Ok(match number_of(context, kind, &name)? {
        Some(number) => Value::Named(number, name_of(context, kind, number)?.unwrap_or(name)),
        None => Value::Null,
    })
}

/// The size of a table or an index, by its number or its name; NULL if there is none with the number.
fn size(context: &Context<'_>, relation: &Value) -> Result<Value, PgError> {
    let number = match relation {
        Value::Text(name) => {
            Value::Int(number_of(context, "regclass", name)?.ok_or_else(|| no_such("regclass", name))?)
        }
        number => number.clone(),
    };
    by_number(context, ("internal", "sizes"), &number, "bytes")
}

/// The size of a part of a table or an index, called fork by PostgreSQL. The store has only the main one.
fn size_of_fork(context: &Context<'_>, relation: &Value, fork: &Value) -> Result<Value, PgError> {
    let (size, fork) = (size(context, relation)?, fork.shown());
    match fork.as_deref() {
        None => Ok(Value::Null),
        Some(_) if size.is_null() => Ok(Value::Null),
        Some("main") => Ok(size),
        Some("fsm" | "vm" | "init") => Ok(Value::Int(0)),
        Some(_) => {
            let hint = "Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".";
            Err(PgError::error("22023", "invalid fork name").with_hint(hint))
        }
    }
}

/// The definition of a constraint for people: `CHECK (a > 0)` for `CHECK ((a > 0))`.
fn without_spare_parentheses(definition: String) -> String {
    let (check, not_valid) = match definition.strip_suffix(" NOT VALID") {
        Some(check) => (check, " NOT VALID"),
        None => (definition.as_str(), ""),
    };
    match check.strip_prefix("CHECK ((").and_then(|rest| rest.strip_suffix("))")) {
        Some(condition) => format!("CHECK ({condition}){not_valid}"),
        None => definition,
    }
}
