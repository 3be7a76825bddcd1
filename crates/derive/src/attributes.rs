//! The attributes `#[atsdb(...)]` of a field.

use syn::spanned::Spanned;
use syn::{Attribute, Error, LitStr, Result};

/// The variants of `atsdb::MapWidth`, by the text that chooses them.
const WIDTHS: [(&str, &str); 3] = [("u8", "U8"), ("u16", "U16"), ("u32", "U32")];

/// The attributes of one field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    /// The variant of `MapWidth`, for a mapped column.
    pub(crate) map: Option<&'static str>,
    /// The column's name, if it differs from the field's.
    pub(crate) rename: Option<LitStr>,
    /// Whether the field is not a column.
    pub(crate) skip: bool,
}

impl FieldAttributes {
    /// Reads and checks the `atsdb` attributes among `attributes`.
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("atsdb")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("map") {
                    refuse_second(read.map.is_some(), &meta.path)?;
                    read.map = Some(width(&meta.value()?.parse()?)?);
                } else if meta.path.is_ident("rename") {
                    refuse_second(read.rename.is_some(), &meta.path)?;
                    read.rename = Some(name(meta.value()?.parse()?)?);
                } else if meta.path.is_ident("skip") {
                    refuse_second(read.skip, &meta.path)?;
                    read.skip = true;
                } else {
                    return Err(meta.error("unknown attribute; use map = \"...\", rename = \"...\" or skip"));
                }
                Ok(())
            })?;
            if read.skip && (read.map.is_some() || read.rename.is_some()) {
                return Err(Error::new(
                    attribute.span(),
                    "a skipped field is not a column: drop skip, or map and rename",
                ));
            }
        }
        Ok(read)
    }
}

fn refuse_second(seen: bool, path: &syn::Path) -> Result<()> {
    match seen {
        true => Err(Error::new(path.span(), "this attribute is given twice")),
        false => Ok(()),
    }
}

fn width(text: &LitStr) -> Result<&'static str> {
    let value = text.value();
    WIDTHS
        .into_iter()
        .find(|(name, _)| *name == value)
        .map(|(_, variant)| variant)
        .ok_or_else(|| Error::new(text.span(), "unknown map width; use \"u8\", \"u16\" or \"u32\""))
}

fn name(text: LitStr) -> Result<LitStr> {
    match text.value().is_empty() {
        true => Err(Error::new(text.span(), "a column needs a name")),
        false => Ok(text),
    }
}
