//! Expands a struct to its implementation of `atsdb::Record`.

use crate::attributes::FieldAttributes;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::collections::HashSet;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, FieldsNamed, Result, Type};

/// One field that is a column.
struct ColumnField<'a> {
    ident: &'a Ident,
    field_type: &'a Type,
    name: String,
    map: Option<&'static str>,
}

/// The implementation of `atsdb::Record` for a struct.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = named_fields(input)?;
    let (columns, skipped) = split(fields)?;
    if columns.is_empty() {
        return Err(Error::new(input.ident.span(), "a record needs at least one column beside its time"));
    }

    let (ident, count) = (&input.ident, columns.len());
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let specs = columns.iter().map(spec);
    let writes = columns.iter().enumerate().map(|(position, column)| {
        let (ident, field_type) = (column.ident, column.field_type);
        quote_spanned! { field_type.span() =>
            <#field_type as ::atsdb::record::Field>::write(&self.#ident, row, #position);
        }
    });
    let reads = columns.iter().enumerate().map(|(position, column)| {
        let (ident, field_type) = (column.ident, column.field_type);
        quote_spanned! { field_type.span() =>
            #ident: <#field_type as ::atsdb::record::Field>::read(row, #position)?,
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::atsdb::Record for #ident #type_generics #where_clause {
            fn columns() -> ::std::vec::Vec<::atsdb::record::ColumnSpec> {
                let columns: [::atsdb::record::ColumnSpec; #count] = [#(#specs),*];
                ::std::vec::Vec::from(columns)
            }

            #[inline]
            fn write(&self, row: &mut ::atsdb::record::RowWriter<'_>) {
                #(#writes)*
            }

            #[inline]
            fn read(row: &::atsdb::record::RowReader<'_>) -> ::atsdb::Result<Self> {
                ::core::result::Result::Ok(Self {
                    #(#reads)*
                    #(#skipped: ::core::default::Default::default(),)*
                })
            }
        }
    })
}

fn named_fields(input: &DeriveInput) -> Result<&FieldsNamed> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields),
            Fields::Unnamed(fields) => {
                Err(Error::new(fields.span(), "a record's fields need names, which become the columns' names"))
            }
            Fields::Unit => Err(Error::new(input.ident.span(), "a record needs fields, which become its columns")),
        },
        Data::Enum(data) => {
            Err(Error::new(data.enum_token.span, "a record is a struct with named fields, not an enum"))
        }
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "a record is a struct with named fields, not a union"))
        }
    }
}

/// The fields that are columns, and the names of those that are not.
fn split(fields: &FieldsNamed) -> Result<(Vec<ColumnField<'_>>, Vec<&Ident>)> {
    let (mut columns, mut skipped, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    for field in &fields.named {
        let attributes = FieldAttributes::read(&field.attrs)?;
        let ident = field.ident.as_ref().ok_or_else(|| Error::new(Span::call_site(), "a field without a name"))?;
        if attributes.skip {
            skipped.push(ident);
            continue;
        }
        let (name, span) = match &attributes.rename {
            Some(rename) => (rename.value(), rename.span()),
            None => (ident.unraw().to_string(), ident.span()),
        };
        if !names.insert(name.to_lowercase()) {
            return Err(Error::new(span, format!("a second column named {name} (names are compared without case)")));
        }
        columns.push(ColumnField { ident, field_type: &field.ty, name, map: attributes.map });
    }
    Ok((columns, skipped))
}

fn spec(column: &ColumnField<'_>) -> TokenStream {
    let ColumnField { field_type, name, map, .. } = column;
    let map = match map {
        Some(variant) => {
            let variant = format_ident!("{variant}");
            quote! { ::core::option::Option::Some(::atsdb::MapWidth::#variant) }
        }
        None => quote! { ::core::option::Option::None },
    };
    quote_spanned! { field_type.span() =>
        ::atsdb::record::ColumnSpec {
            name: #name,
            column_type: <#field_type as ::atsdb::record::Field>::COLUMN_TYPE,
            nullable: <#field_type as ::atsdb::record::Field>::NULLABLE,
            map: #map,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derive(source: &str) -> Result<String> {
        Ok(expand(&syn::parse_str(source)?)?.to_string().replace(' ', ""))
    }

    fn refusal(source: &str) -> String {
        derive(source).expect_err("must not derive").to_string()
    }

    #[test]
    fn fields_become_columns_in_their_order() {
        let code = derive("struct R<'a> { #[atsdb(map = \"u8\")] state: String, r#type: Option<i32>, p: &'a [u8] }");
        let code = code.expect("derives");
        assert!(code.contains("name:\"state\"") && code.contains("Some(::atsdb::MapWidth::U8)"), "{code}");
        assert!(code.contains("name:\"type\"") && code.contains("<Option<i32>as::atsdb::record::Field>::NULLABLE"));
        assert!(code.contains("write(&self.state,row,0usize)") && code.contains("write(&self.r#type,row,1usize)"));
        assert!(code.contains("impl<'a>::atsdb::RecordforR<'a>"), "{code}");
    }

    #[test]
    fn renamed_and_skipped_fields_are_told_from_columns() {
        let code = derive("struct R { #[atsdb(rename = \"pm2.5\")] a: f32, #[atsdb(skip)] b: u8, c: u8 }");
        let code = code.expect("derives");
        assert!(code.contains("name:\"pm2.5\"") && code.contains("b:::core::default::Default::default()"), "{code}");
        assert!(code.contains("write(&self.c,row,1usize)") && !code.contains("self.b"), "{code}");
    }

    #[test]
    fn what_is_no_struct_of_columns_is_refused_with_the_reason() {
        assert!(refusal("enum R { A }").contains("not an enum"));
        assert!(refusal("union R { a: u8 }").contains("not a union"));
        assert!(refusal("struct R(u8);").contains("need names"));
        assert!(refusal("struct R;").contains("needs fields"));
        assert!(refusal("struct R { #[atsdb(skip)] a: u8 }").contains("at least one column"));
        assert!(refusal("struct R { #[atsdb(mapped)] a: String }").contains("unknown attribute"));
        assert!(refusal("struct R { #[atsdb(map = \"u64\")] a: String }").contains("unknown map width"));
        assert!(refusal("struct R { #[atsdb(skip, rename = \"b\")] a: u8 }").contains("not a column"));
        assert!(refusal("struct R { #[atsdb(skip, skip)] a: u8 }").contains("twice"));
        assert!(refusal("struct R { a: u8, #[atsdb(rename = \"A\")] b: u8 }").contains("second column named A"));
        assert!(refusal("struct R { #[atsdb(rename = \"\")] b: u8 }").contains("needs a name"));
    }
}
