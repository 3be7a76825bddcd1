//! Functions that write values of any type as text or JSON. Their arguments have nothing to do with each other.

const NAMES: [&str; 14] = [
    "concat",
    "concat_ws",
    "format",
    "format_array",
    "json_build_array",
    "json_build_object",
    "json_pair",
    "json_row",
    "json_row_lines",
    "jsonb_build_array",
    "jsonb_build_object",
    "row_text",
    "to_json",
    "to_jsonb",
];

/// Returns whether the function with a name writes each of its arguments.
pub(crate) fn writes_values(name: &str) -> bool {
    NAMES.contains(&name)
}
