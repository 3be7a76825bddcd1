//! The types of what functions return.

use crate::pg::types::known;

/// Functions that return texts, besides those whose names begin with `pg_`.
const OF_TEXTS: [&str; 27] = [
    "array",
    "array_to_string",
    "btrim",
    "col_description",
    "concat",
    "current_setting",
    "format",
    "format_type",
    "inet_client_addr",
    "inet_server_addr",
    "json_agg",
    "lower",
    "obj_description",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    "replace",
    "row",
    "set_config",
    "shobj_description",
    "split_part",
    "string_agg",
    "substr",
    "substring",
    "trim",
    "upper",
    "version",
];

/// The type of a call's value; `None` if the store evaluates the function.
pub(super) fn result_type(name: &str, arguments: &[u32]) -> Option<u32> {
    let first = arguments.first().copied().unwrap_or(known::TEXT);
    Some(match name {
        "current_database"
        | "current_schema"
        | "current_user"
        | "session_user"
        | "user"
        | "current_role"
        | "current_catalog"
        | "pg_get_userbyid"
        | "pg_encoding_to_char"
        | "getdatabaseencoding"
        | "pg_client_encoding" => known::NAME,
        "current_schemas" => 1003,
        "acldefault" => 1034,
        "pg_backend_pid" | "array_upper" | "array_lower" | "array_length" | "cardinality" | "length" | "strpos"
        | "position" | "inet_server_port" | "inet_client_port" | "array_position" => known::INT4,
        "count"
        | "row_number"
        | "pg_relation_size"
        | "pg_table_size"
        | "pg_total_relation_size"
        | "pg_indexes_size"
        | "pg_database_size"
        | "pg_tablespace_size" => known::INT8,
        "pg_is_in_recovery" | "pg_cancel_backend" | "pg_terminate_backend" | "bool_and" | "bool_or" | "every" => {
            known::BOOL
        }
        "pg_my_temp_schema" => known::OID,
        "to_regclass" | "regclass" | "pg_partition_ancestors" => known::REGCLASS,
        "to_regtype" | "regtype" | "pg_typeof" => known::REGTYPE,
        "to_regnamespace" | "regnamespace" => known::REGNAMESPACE,
        "to_regrole" | "regrole" => known::REGROLE,
        "to_regproc" | "regproc" => known::REGPROC,
        "to_regprocedure" | "regprocedure" => known::REGPROCEDURE,
        "pg_postmaster_start_time" | "pg_conf_load_time" | "pg_last_xact_replay_timestamp" => known::TIMESTAMPTZ,
        "pg_blocking_pids" => 1007,
        name if is_present_time(name) => known::TIMESTAMPTZ,
        "array_agg" => known::by_id(first).map_or(1009, |element| element.array),
        "unnest" => match first {
            22 => known::INT2,
            30 => known::OID,
            array => known::element_of(array).map_or(known::TEXT, |element| element.id),
        },
        "generate_series" | "generate_subscripts" => known::INT4,
        "_pg_expandarray" => 2249,
        "min" | "max" | "abs" | "nullif" | "array_append" | "array_remove" => first,
        "sum" => match first {
            known::NUMERIC | known::INTERVAL => first,
            known::FLOAT4 | known::FLOAT8 => known::FLOAT8,
            _ => known::INT8,
        },
        "avg" => match first {
            known::FLOAT4 | known::FLOAT8 => known::FLOAT8,
            known::INTERVAL => known::INTERVAL,
            _ => known::NUMERIC,
        },
        "date_part" => known::FLOAT8,
        "coalesce" | "greatest" | "least" => {
            arguments.iter().copied().find(|id| *id != known::TEXT).unwrap_or(known::TEXT)
        }
        "string_to_array" | "parse_ident" => 1009,
        "json_build_object" | "row_to_json" => known::JSON,
        name if is_statistic(name) => known::INT8,
        name if is_condition(name) => known::BOOL,
        name if name.starts_with("pg_") || OF_TEXTS.contains(&name) => known::TEXT,
        _ => return None,
    })
}

/// Returns whether a function returns the present time.
pub(super) fn is_present_time(name: &str) -> bool {
    ["now", "current_timestamp", "transaction_timestamp", "statement_timestamp", "clock_timestamp"].contains(&name)
}

/// Returns whether a function returns a number of events that PostgreSQL counts for a table or an index.
pub(super) fn is_statistic(name: &str) -> bool {
    let counted = name.strip_prefix("pg_stat_get_").unwrap_or_default();
    ["numscans", "blocks_fetched", "blocks_hit", "dead_tuples"].contains(&counted) || counted.starts_with("tuples_")
}

/// Returns whether a function returns whether something holds.
pub(super) fn is_condition(name: &str) -> bool {
    name.starts_with("has_")
        || name.ends_with("_is_visible")
        || name.ends_with("_has_property")
        || name.starts_with("pg_has_role")
        || ["pg_is_other_temp_schema", "starts_with", "pg_relation_is_publishable"].contains(&name)
}
