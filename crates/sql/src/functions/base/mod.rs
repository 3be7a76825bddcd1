//! What functions are made of: their [`arguments`], [simple functions](plain), functions over [one of
//! DataFusion's](of_inner), and [types whose values are texts](text_types) for DataFusion.

pub(crate) mod arguments;
pub(crate) mod of_inner;
pub(crate) mod plain;
pub(crate) mod text_types;
