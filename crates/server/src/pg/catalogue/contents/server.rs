//! What the catalogue says about the server: schemas, the database, roles, settings.

use super::super::relation::Row;
use super::super::value::Value;
use super::row::row;
use super::shapes::texts;
use crate::pg::settings::Settings;

pub(super) fn rows(name: &str, database: &str, user: &str, process: i32, settings: &Settings) -> Vec<Row> {
    let rows_of = |all: Vec<Vec<(&str, Value)>>| all.iter().map(|values| row("pg_catalog", name, values)).collect();
    match name {
        "pg_namespace" => {
            let all = [(11, "pg_catalog"), (2_200, "public"), (13_000, "information_schema")];
            let schema = |(number, name): (i64, &str)| {
                vec![("oid", Value::Int(number)), ("nspname", Value::text(name)), ("nspowner", Value::Int(10))]
            };
            rows_of(all.map(schema).into())
        }
        "pg_database" => rows_of(vec![vec![
            ("oid", Value::Int(16_383)),
            ("datname", Value::text(database)),
            ("datdba", Value::Int(10)),
            ("encoding", Value::Int(6)),
            ("datlocprovider", Value::text("c")),
            ("datistemplate", Value::Bool(false)),
            ("datallowconn", Value::Bool(true)),
            ("datconnlimit", Value::Int(-1)),
            ("dattablespace", Value::Int(1_663)),
            ("datcollate", Value::text("C.UTF-8")),
            ("datctype", Value::text("C.UTF-8")),
        ]]),
        "pg_roles" | "pg_authid" => {
            let mut values = vec![
                ("oid", Value::Int(10)),
                ("rolname", Value::text(user)),
                ("rolconnlimit", Value::Int(-1)),
                ("rolreplication", Value::Bool(false)),
            ];
            let rights = ["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolbypassrls"];
            values.extend(rights.map(|right| (right, Value::Bool(true))));
            rows_of(vec![values])
        }
        "pg_user" => {
            let mut values = vec![
                ("usename", Value::text(user)),
                ("usesysid", Value::Int(10)),
                ("passwd", Value::text("********")),
                ("userepl", Value::Bool(false)),
            ];
            values.extend(["usecreatedb", "usesuper", "usebypassrls"].map(|right| (right, Value::Bool(true))));
            rows_of(vec![values])
        }
        "pg_am" => rows_of(vec![
            vec![("oid", Value::Int(2)), ("amname", Value::text("heap")), ("amtype", Value::text("t"))],
            vec![("oid", Value::Int(403)), ("amname", Value::text("btree")), ("amtype", Value::text("i"))],
        ]),
        "pg_tablespace" => rows_of(vec![vec![
            ("oid", Value::Int(1_663)),
            ("spcname", Value::text("pg_default")),
            ("spcowner", Value::Int(10)),
        ]]),
        "pg_collation" => rows_of(vec![vec![
            ("oid", Value::Int(100)),
            ("collname", Value::text("default")),
            ("collnamespace", Value::Int(11)),
            ("collowner", Value::Int(10)),
            ("collprovider", Value::text("d")),
            ("collisdeterministic", Value::Bool(true)),
            ("collencoding", Value::Int(-1)),
        ]]),
        "pg_language" => rows_of(vec![vec![
            ("oid", Value::Int(12)),
            ("lanname", Value::text("internal")),
            ("lanowner", Value::Int(10)),
            ("lanispl", Value::Bool(false)),
            ("lanpltrusted", Value::Bool(false)),
        ]]),
        "pg_opclass" => rows_of(vec![vec![
            ("oid", Value::Int(1_978)),
            ("opcmethod", Value::Int(403)),
            ("opcname", Value::text("int4_ops")),
            ("opcnamespace", Value::Int(11)),
            ("opcdefault", Value::Bool(true)),
            ("opcintype", Value::Int(23)),
        ]]),
        "pg_settings" => {
            let setting = |(name, value): (&str, &str)| {
                let [name, value, context, kind, source] = texts([name, value, "user", "string", "session"]);
                vec![
                    ("name", name),
                    ("setting", value.clone()),
                    ("category", Value::text("atsdb")),
                    ("short_desc", Value::text("")),
                    ("context", context),
                    ("vartype", kind),
                    ("source", source),
                    ("boot_val", value.clone()),
                    ("reset_val", value),
                    ("pending_restart", Value::Bool(false)),
                ]
            };
            rows_of(settings.all().map(setting).collect())
        }
        "pg_stat_activity" => rows_of(vec![vec![
            ("datid", Value::Int(16_383)),
            ("datname", Value::text(database)),
            ("pid", Value::Int(i64::from(process))),
            ("usesysid", Value::Int(10)),
            ("usename", Value::text(user)),
            ("application_name", Value::text(settings.get("application_name").unwrap_or_default())),
            ("state", Value::text("active")),
            ("backend_type", Value::text("client backend")),
        ]]),
        "pg_timezone_names" => {
            let [name, abbreviation] = texts(["UTC", "UTC"]);
            rows_of(vec![vec![("name", name), ("abbrev", abbreviation), ("is_dst", Value::Bool(false))]])
        }
        "pg_get_keywords" => {
            const RESERVED: [&str; 24] = [
                "all", "and", "array", "as", "case", "cast", "check", "column", "create", "default", "distinct",
                "else", "end", "false", "from", "group", "limit", "not", "null", "order", "select", "table", "true",
                "where",
            ];
            let keyword = |word: &str| {
                let [word, code, description, label] = texts([word, "R", "reserved", "requires AS"]);
                vec![word, code, Value::Bool(false), description, label]
            };
            RESERVED.into_iter().map(keyword).collect()
        }
        _ => Vec::new(),
    }
}
