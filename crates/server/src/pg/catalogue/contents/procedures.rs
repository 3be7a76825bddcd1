//! `pg_proc`: the functions that read and write the values of types, by which clients distinguish kinds of types, and
//! those that a query may call.

use super::super::relation::Row;
use super::super::value::Value;
use super::roles::OWNER;
use super::row::row;
use atsdb::sql::RangeType;
use std::sync::LazyLock;

/// The functions of a type, with PostgreSQL's numbers: from text, to text, from binary and to binary.
pub(super) type TypeFunctions = [(i64, &'static str); 4];

/// The functions of array types.
pub(super) const OF_ARRAYS: TypeFunctions =
    [(750, "array_in"), (751, "array_out"), (2400, "array_recv"), (2401, "array_send")];

/// The functions of row types.
pub(super) const OF_ROWS: TypeFunctions =
    [(2290, "record_in"), (2291, "record_out"), (2402, "record_recv"), (2403, "record_send")];

/// The functions of enumerated types.
pub(super) const OF_ENUMERATIONS: TypeFunctions =
    [(3506, "enum_in"), (3507, "enum_out"), (3532, "enum_recv"), (3533, "enum_send")];

/// The functions of the other types, by the type's name. `-` means no function.
const OF_TYPES: [(&str, TypeFunctions); 46] = [
    ("bool", [(1242, "boolin"), (1243, "boolout"), (2436, "boolrecv"), (2437, "boolsend")]),
    ("bytea", [(1244, "byteain"), (31, "byteaout"), (2412, "bytearecv"), (2413, "byteasend")]),
    ("char", [(1245, "charin"), (33, "charout"), (2434, "charrecv"), (2435, "charsend")]),
    ("name", [(34, "namein"), (35, "nameout"), (2422, "namerecv"), (2423, "namesend")]),
    ("int8", [(460, "int8in"), (461, "int8out"), (2408, "int8recv"), (2409, "int8send")]),
    ("int2", [(38, "int2in"), (39, "int2out"), (2404, "int2recv"), (2405, "int2send")]),
    ("int2vector", [(40, "int2vectorin"), (41, "int2vectorout"), (2410, "int2vectorrecv"), (2411, "int2vectorsend")]),
    ("int4", [(42, "int4in"), (43, "int4out"), (2406, "int4recv"), (2407, "int4send")]),
    ("regproc", [(44, "regprocin"), (45, "regprocout"), (2444, "regprocrecv"), (2445, "regprocsend")]),
    ("text", [(46, "textin"), (47, "textout"), (2414, "textrecv"), (2415, "textsend")]),
    ("oid", [(1798, "oidin"), (1799, "oidout"), (2418, "oidrecv"), (2419, "oidsend")]),
    ("tid", [(48, "tidin"), (49, "tidout"), (2438, "tidrecv"), (2439, "tidsend")]),
    ("xid", [(50, "xidin"), (51, "xidout"), (2440, "xidrecv"), (2441, "xidsend")]),
    ("cid", [(52, "cidin"), (53, "cidout"), (2442, "cidrecv"), (2443, "cidsend")]),
    ("oidvector", [(54, "oidvectorin"), (55, "oidvectorout"), (2420, "oidvectorrecv"), (2421, "oidvectorsend")]),
    ("json", [(321, "json_in"), (322, "json_out"), (323, "json_recv"), (324, "json_send")]),
    ("xml", [(2893, "xml_in"), (2894, "xml_out"), (2898, "xml_recv"), (2899, "xml_send")]),
    (
        "pg_node_tree",
        [(195, "pg_node_tree_in"), (196, "pg_node_tree_out"), (197, "pg_node_tree_recv"), (198, "pg_node_tree_send")],
    ),
    ("cidr", [(1267, "cidr_in"), (1427, "cidr_out"), (2498, "cidr_recv"), (2499, "cidr_send")]),
    ("float4", [(200, "float4in"), (201, "float4out"), (2424, "float4recv"), (2425, "float4send")]),
    ("float8", [(214, "float8in"), (215, "float8out"), (2426, "float8recv"), (2427, "float8send")]),
    ("unknown", [(109, "unknownin"), (110, "unknownout"), (2416, "unknownrecv"), (2417, "unknownsend")]),
    ("inet", [(910, "inet_in"), (911, "inet_out"), (2496, "inet_recv"), (2497, "inet_send")]),
    ("aclitem", [(1031, "aclitemin"), (1032, "aclitemout"), (0, "-"), (0, "-")]),
    ("bpchar", [(1044, "bpcharin"), (1045, "bpcharout"), (2430, "bpcharrecv"), (2431, "bpcharsend")]),
    ("varchar", [(1046, "varcharin"), (1047, "varcharout"), (2432, "varcharrecv"), (2433, "varcharsend")]),
    ("date", [(1084, "date_in"), (1085, "date_out"), (2468, "date_recv"), (2469, "date_send")]),
    ("time", [(1143, "time_in"), (1144, "time_out"), (2470, "time_recv"), (2471, "time_send")]),
    (
        "timestamp",
        [(1312, "timestamp_in"), (1313, "timestamp_out"), (2474, "timestamp_recv"), (2475, "timestamp_send")],
    ),
    (
        "timestamptz",
        [(1150, "timestamptz_in"), (1151, "timestamptz_out"), (2476, "timestamptz_recv"), (2477, "timestamptz_send")],
    ),
    ("interval", [(1160, "interval_in"), (1161, "interval_out"), (2478, "interval_recv"), (2479, "interval_send")]),
    ("timetz", [(1350, "timetz_in"), (1351, "timetz_out"), (2472, "timetz_recv"), (2473, "timetz_send")]),
    ("numeric", [(1701, "numeric_in"), (1702, "numeric_out"), (2460, "numeric_recv"), (2461, "numeric_send")]),
    (
        "regprocedure",
        [(2212, "regprocedurein"), (2213, "regprocedureout"), (2446, "regprocedurerecv"), (2447, "regproceduresend")],
    ),
    (
        "regoperator",
        [(2216, "regoperatorin"), (2217, "regoperatorout"), (2450, "regoperatorrecv"), (2451, "regoperatorsend")],
    ),
    ("regclass", [(2218, "regclassin"), (2219, "regclassout"), (2452, "regclassrecv"), (2453, "regclasssend")]),
    ("regtype", [(2220, "regtypein"), (2221, "regtypeout"), (2454, "regtyperecv"), (2455, "regtypesend")]),
    ("cstring", [(2292, "cstring_in"), (2293, "cstring_out"), (2500, "cstring_recv"), (2501, "cstring_send")]),
    ("any", [(2294, "any_in"), (2295, "any_out"), (0, "-"), (0, "-")]),
    ("anyarray", [(2296, "anyarray_in"), (2297, "anyarray_out"), (2502, "anyarray_recv"), (2503, "anyarray_send")]),
    ("void", [(2298, "void_in"), (2299, "void_out"), (3120, "void_recv"), (3121, "void_send")]),
    ("trigger", [(2300, "trigger_in"), (2301, "trigger_out"), (0, "-"), (0, "-")]),
    ("uuid", [(2952, "uuid_in"), (2953, "uuid_out"), (2961, "uuid_recv"), (2962, "uuid_send")]),
    ("jsonb", [(3806, "jsonb_in"), (3804, "jsonb_out"), (3805, "jsonb_recv"), (3803, "jsonb_send")]),
    (
        "regnamespace",
        [(4084, "regnamespacein"), (4085, "regnamespaceout"), (4087, "regnamespacerecv"), (4088, "regnamespacesend")],
    ),
    ("regrole", [(4098, "regrolein"), (4092, "regroleout"), (4094, "regrolerecv"), (4095, "regrolesend")]),
];

/// The functions of all types of ranges.
const OF_RANGES: TypeFunctions = [(3834, "range_in"), (3835, "range_out"), (3836, "range_recv"), (3837, "range_send")];

/// The functions of a type.
pub(super) fn of_type(name: &str) -> TypeFunctions {
    if RangeType::of_name(name).is_some() {
        return OF_RANGES;
    }
    OF_TYPES.iter().find(|(known, _)| *known == name).map_or(OF_ROWS, |(_, functions)| *functions)
}

/// A reference to a function.
pub(super) fn named((number, name): (i64, &str)) -> Value {
    Value::Named(number, name.to_owned())
}

/// PostgreSQL's functions that the store has, with their types, one a line: the number, the name, the kind, whether it
/// returns several rows, how volatile it is, the type of its result, those of its arguments, and both as PostgreSQL
/// writes them. Functions of atsdb alone are not among them.
const OF_SQL: &str = include_str!("functions.txt");

/// The rows of `pg_proc`, which are the same for all.
static FUNCTIONS: LazyLock<Vec<Row>> =
    LazyLock::new(|| type_functions().into_iter().chain(OF_SQL.lines().filter_map(function_of_sql)).collect());

pub(super) fn functions() -> Vec<Row> {
    FUNCTIONS.clone()
}

/// The numbers of the functions, with their results and their arguments.
pub(super) fn signatures() -> Vec<Row> {
    let signature = |line: &str| {
        let mut parts = line.splitn(9, '|');
        let number = Value::Int(parts.next()?.parse().ok()?);
        Some(vec![number, Value::text(parts.nth(6)?), Value::text(parts.next()?)])
    };
    OF_SQL.lines().filter_map(signature).collect()
}

fn function_of_sql(line: &str) -> Option<Row> {
    let mut parts = line.splitn(9, '|');
    let (number, name, kind) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let (returns_set, volatility, result) = (parts.next()? == "t", parts.next()?, parts.next()?.parse().ok()?);
    let arguments: Vec<Value> =
        parts.next()?.split_whitespace().filter_map(|number| number.parse().ok().map(Value::Int)).collect();
    let values = [
        ("oid", Value::Int(number)),
        ("proname", Value::text(name)),
        ("pronamespace", Value::Int(11)),
        ("proowner", Value::Int(OWNER)),
        ("prolang", Value::Int(12)),
        ("prokind", Value::text(kind)),
        ("proretset", Value::Bool(returns_set)),
        ("provolatile", Value::text(volatility)),
        ("proparallel", Value::text("s")),
        ("pronargs", Value::Int(arguments.len() as i64)),
        ("prorettype", Value::Int(result)),
        ("proargtypes", Value::Array(arguments)),
        ("prosrc", Value::text(name)),
    ];
    Some(row("pg_catalog", "pg_proc", &values))
}

/// The rows of the functions of types.
fn type_functions() -> Vec<Row> {
    let all = OF_TYPES.iter().map(|(_, functions)| functions).chain([&OF_ARRAYS, &OF_RANGES, &OF_ROWS]).flatten();
    let mut all: Vec<(i64, &str)> = all.copied().filter(|(number, _)| *number != 0).collect();
    all.sort_unstable();
    all.dedup();
    let function = |(number, name): (i64, &str)| {
        row(
            "pg_catalog",
            "pg_proc",
            &[
                ("oid", Value::Int(number)),
                ("proname", Value::text(name)),
                ("pronamespace", Value::Int(11)),
                ("proowner", Value::Int(OWNER)),
                ("prolang", Value::Int(12)),
                ("prokind", Value::text("f")),
                ("prosrc", Value::text(name)),
            ],
        )
    };
    all.into_iter().map(function).collect()
}
