//! The tables of the catalogue about the server: the database, roles, settings.

use super::super::activity::DatabaseEntry;
use super::super::relation::Row;
use super::super::value::Value;
use super::classes::HEAP;
use super::indexes::{BTREE, OPCLASSES, OPFAMILIES};
use super::keywords::keywords;
use super::operators::operators;
use super::procedures::{functions, named};
use super::roles::{OWNER, Roles};
use super::row::row;
use crate::pg::setting_list::KnownSetting;
use crate::pg::settings::Settings;
use crate::shared::clock;
use atsdb::sql::{ZoneAtInstant, zone_abbreviations, zones_at};

/// The number of the first database. Those of the others are below it, because tables begin above.
const FIRST_DATABASE: i64 = 16_383;

/// The number of the encoding UTF8.
const UTF8: i64 = 6;

/// The number of a database in the catalogue.
pub(super) fn number_of(database: &DatabaseEntry) -> i64 {
    FIRST_DATABASE - database.number
}

/// The databases that the user may know of.
pub(super) fn databases(databases: &[DatabaseEntry]) -> Vec<Row> {
    let of = |database: &DatabaseEntry| {
        let values = [
            ("oid", Value::Int(number_of(database))),
            ("datname", Value::text(&database.name)),
            ("datdba", Value::Int(OWNER)),
            ("encoding", Value::Int(UTF8)),
            ("datlocprovider", Value::text("c")),
            ("datistemplate", Value::Bool(false)),
            ("datallowconn", Value::Bool(true)),
            ("datconnlimit", Value::Int(-1)),
            ("dattablespace", Value::Int(1_663)),
            ("datcollate", Value::text("C.UTF-8")),
            ("datctype", Value::text("C.UTF-8")),
        ];
        row("pg_catalog", "pg_database", &values)
    };
    databases.iter().map(of).collect()
}

/// A time zone, for `pg_timezone_names` and `pg_timezone_abbrevs`.
fn zone(zone: &ZoneAtInstant) -> Vec<(&'static str, Value)> {
    vec![
        ("name", Value::text(zone.name)),
        ("abbrev", Value::text(zone.abbreviation.as_str())),
        ("utc_offset", Value::Interval(zone.ahead * 1_000_000)),
        ("is_dst", Value::Bool(zone.is_summer)),
    ]
}

pub(super) fn rows(name: &str, roles: &Roles, settings: &Settings) -> Vec<Row> {
    let rows_of = |all: Vec<Vec<(&str, Value)>>| all.iter().map(|values| row("pg_catalog", name, values)).collect();
    match name {
        "pg_roles" | "pg_authid" | "pg_user" | "pg_shadow" | "pg_auth_members" => roles.rows(name),
        "pg_proc" => functions(),
        "pg_operator" => operators(),
        "pg_am" => rows_of(vec![
            vec![
                ("oid", Value::Int(HEAP)),
                ("amname", Value::text("heap")),
                ("amhandler", named((3, "heap_tableam_handler"))),
                ("amtype", Value::text("t")),
            ],
            vec![
                ("oid", Value::Int(BTREE)),
                ("amname", Value::text("btree")),
                ("amhandler", named((330, "bthandler"))),
                ("amtype", Value::text("i")),
            ],
        ]),
        "pg_tablespace" => {
            let space = |(number, name): (i64, &'static str)| {
                vec![("oid", Value::Int(number)), ("spcname", Value::text(name)), ("spcowner", Value::Int(OWNER))]
            };
            rows_of([(1_663, "pg_default"), (1_664, "pg_global")].map(space).into())
        }
        "pg_collation" => {
            let posix = (951, "POSIX", Some("POSIX"));
            let all = [(100, "default", None), (950, "C", Some("C")), posix, (962, "ucs_basic", Some("C"))];
            rows_of(all.map(collation).into())
        }
        "pg_language" => rows_of(vec![vec![
            ("oid", Value::Int(12)),
            ("lanname", Value::text("internal")),
            ("lanowner", Value::Int(OWNER)),
            ("lanispl", Value::Bool(false)),
            ("lanpltrusted", Value::Bool(false)),
        ]]),
        "pg_opclass" => rows_of(OPCLASSES.map(operator_class).into()),
        "pg_opfamily" => {
            let family = |(number, name): (i64, &'static str)| {
                vec![
                    ("oid", Value::Int(number)),
                    ("opfmethod", Value::Int(BTREE)),
                    ("opfname", Value::text(name)),
                    ("opfnamespace", Value::Int(11)),
                    ("opfowner", Value::Int(OWNER)),
                ]
            };
            rows_of(OPFAMILIES.map(family).into())
        }
        "pg_settings" => {
            rows_of(settings.all().map(|(name, value, known)| setting(settings, name, value, known)).collect())
        }
        "pg_timezone_names" => rows_of(zones_at(clock::wall_ns().div_euclid(1_000_000_000)).iter().map(zone).collect()),
        "pg_timezone_abbrevs" => rows_of(zone_abbreviations().iter().map(zone).collect()),
        "pg_get_keywords" => keywords(),
        _ => Vec::new(),
    }
}

/// The values of a collation: its number, its name and its locale.
fn collation((number, name, locale): (i64, &'static str, Option<&'static str>)) -> Vec<(&'static str, Value)> {
    // `default` is the database's, and has no locale of its own.
    let provider = if locale.is_some() { "c" } else { "d" };
    let encoding = if name == "ucs_basic" { UTF8 } else { -1 };
    vec![
        ("oid", Value::Int(number)),
        ("collname", Value::text(name)),
        ("collnamespace", Value::Int(11)),
        ("collowner", Value::Int(OWNER)),
        ("collprovider", Value::text(provider)),
        ("collisdeterministic", Value::Bool(true)),
        ("collencoding", Value::Int(encoding)),
        ("collcollate", Value::maybe(locale)),
        ("collctype", Value::maybe(locale)),
    ]
}

/// The values of an operator class: its number, its name, its family and the type of its values.
fn operator_class((number, name, family, type_id): (i64, &'static str, i64, u32)) -> Vec<(&'static str, Value)> {
    vec![
        ("oid", Value::Int(number)),
        ("opcmethod", Value::Int(BTREE)),
        ("opcname", Value::text(name)),
        ("opcnamespace", Value::Int(11)),
        ("opcowner", Value::Int(OWNER)),
        ("opcfamily", Value::Int(family)),
        ("opcintype", Value::Int(i64::from(type_id))),
        ("opcdefault", Value::Bool(true)),
        ("opckeytype", Value::Int(0)),
    ]
}

/// The values of a setting, which may be one that the server does not know.
fn setting(
    settings: &Settings,
    name: &str,
    value: &str,
    known: Option<&'static KnownSetting>,
) -> Vec<(&'static str, Value)> {
    let initial = settings.initial(name).unwrap_or(value);
    let (context, kind) = known.map_or(("user", "string"), |known| (known.context, known.kind));
    let source = if value == initial { "default" } else { "session" };
    vec![
        ("name", Value::text(name)),
        ("setting", Value::text(value)),
        ("category", Value::text("atsdb")),
        ("short_desc", Value::text(known.map_or("", |known| known.description))),
        ("context", Value::text(context)),
        ("vartype", Value::text(kind)),
        ("source", Value::text(source)),
        ("boot_val", Value::text(known.map_or(initial, |known| known.value))),
        ("reset_val", Value::text(initial)),
        ("pending_restart", Value::Bool(false)),
    ]
}
