//! The building blocks of functions: their [`arguments`] and [`answers`], [simple functions](plain), functions over
//! [one of DataFusion's](of_inner), and [types whose values are texts](text_types) for DataFusion.

pub(crate) mod answers;
pub mod arguments;
pub mod of_inner;
pub mod plain;
pub mod text_types;
