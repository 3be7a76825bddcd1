//! `#[derive(Record)]`: makes a struct a row of an atsdb series table.
//!
//! Owned here: reading the struct and its attributes, and writing the implementation of `atsdb::Record`. Not
//! owned: what a column of each Rust type is (`atsdb::record::Field`), nor whether a table can be made of the
//! columns (checked when the table is created).
//!
//! Applications name neither this crate nor the macro's path, but `atsdb::Record`.

mod attributes;
mod expand;

use proc_macro::TokenStream;

/// Makes a struct with named fields a row of a series table: each field becomes a column of the same name, in the
/// order written. The time is no field; it is given beside the record when it is pushed.
///
/// ```text
/// #[derive(atsdb::Record)]
/// struct Reading {
///     #[atsdb(map = "u32")]           // few distinct strings: stored as indices into a dictionary
///     sensor: String,
///     #[atsdb(rename = "pm2.5")]      // the column's name, where it is no Rust name
///     fine_dust: Option<f32>,         // Option: the column takes NULL
///     count1: i32,
///     #[atsdb(skip)]                  // no column; Default::default() when read
///     note: String,
/// }
///
/// let readings = atsdb::open("air.db")?.table::<Reading>("readings")?;
/// ```
///
/// A field's type is one that implements `atsdb::record::Field`: `bool`, `i8` to `i64`, `u8` to `u64`, `f32`,
/// `f64`, `String`, `Vec<u8>`, and an `Option` of each.
///
/// Attributes, in `#[atsdb(...)]` on a field:
///
/// - `map = "u8"`, `"u16"` or `"u32"`: a mapped column whose dictionary takes 256, 65,536 or 4,294,967,296
///   strings. Only text can be mapped.
/// - `rename = "..."`: the column's name. Names are compared without case.
/// - `skip`: the field is no column.
///
/// # Errors
///
/// Does not compile on enums, unions, tuple structs, structs without a column, unknown or doubled attributes, and
/// two columns of one name; the message points at the place.
#[proc_macro_derive(Record, attributes(atsdb))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
