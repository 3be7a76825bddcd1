//! `#[derive(Record)]`: makes a struct a row of an atsdb series table.
//!
//! Owned here: parsing the struct and its attributes, and generating the implementation of `atsdb::Record`. Not owned:
//! the column type of each Rust type (`atsdb::record::Field`), and whether a table can have these columns (checked when
//! it is created).
//!
//! Applications use the macro as `atsdb::Record`.

mod attributes;
mod expand;

use proc_macro::TokenStream;

/// Makes a struct with named fields a row of a series table: each field becomes a column of the same name, in the
/// order written. The time is not a field: it is passed with the record to `push`.
///
/// ```text
/// #[derive(atsdb::Record)]
/// struct Reading {
///     #[atsdb(map = "u32")]           // few distinct strings: stored as indices into a dictionary
///     sensor: String,
///     #[atsdb(rename = "pm2.5")]      // a column name that is not a Rust identifier
///     fine_dust: Option<f32>,         // Option: the column takes NULL
///     count1: i32,
///     #[atsdb(skip)]                  // not a column; Default::default() when read
///     note: String,
/// }
///
/// let readings = atsdb::open("air.db")?.table::<Reading>("readings")?;
/// ```
///
/// The type of a field must implement `atsdb::record::Field`: `bool`, `i8` to `i64`, `u8` to `u64`, `f32`,
/// `f64`, `String`, `Vec<u8>`, and an `Option` of each.
///
/// Attributes, in `#[atsdb(...)]` on a field:
///
/// - `map = "u8"`, `"u16"` or `"u32"`: a mapped column whose dictionary holds up to 256, 65,536 or 4,294,967,296
///   strings. Only text can be mapped.
/// - `rename = "..."`: the column's name. Names ignore case.
/// - `skip`: the field is not a column.
///
/// # Errors
///
/// It does not compile for enums, unions, tuple structs, structs without a column, unknown or repeated attributes, and
/// two columns with the same name. The error message points to the cause.
#[proc_macro_derive(Record, attributes(atsdb))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
