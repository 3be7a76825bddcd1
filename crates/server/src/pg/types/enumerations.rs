//! The numbers of enumerated types and of their labels. A number follows from the name, so that everything that knows
//! the name of a type knows its number.

use atsdb::QualifiedName;
use std::ops::Range;

/// The numbers of enumerated types. Those of row types, which are below, end before them.
const TYPES: Range<u32> = 0x4800_0000..0x5000_0000;

/// A type's number plus this is the number of the type of its arrays.
const ARRAYS_AFTER: u32 = 0x2000_0000;

/// The numbers of labels begin here.
const LABELS_FROM: u32 = 0x7800_0000;

/// The number of an enumerated type.
pub(in crate::pg) fn number_of(name: &QualifiedName) -> u32 {
    TYPES.start + folded(&[name.schema.as_deref().unwrap_or_default(), &name.name])
}

/// The number of the type of arrays of an enumerated type.
pub(in crate::pg) fn array_of(number: u32) -> u32 {
    number + ARRAYS_AFTER
}

/// The number of a label of a type.
pub(in crate::pg) fn number_of_label(name: &QualifiedName, label: &str) -> u32 {
    LABELS_FROM + folded(&[name.schema.as_deref().unwrap_or_default(), &name.name, label])
}

/// Returns whether a number is that of an enumerated type.
pub(in crate::pg) fn is_enumeration(number: u32) -> bool {
    TYPES.contains(&number)
}

/// The FNV-1a hash of names, folded to 27 bits. Letters of both cases are the same, as in names of types.
fn folded(names: &[&str]) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for name in names {
        for byte in name.to_ascii_lowercase().bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    let bits = (hash ^ (hash >> 27) ^ (hash >> 54)) & 0x07ff_ffff;
    u32::try_from(bits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_one_number_and_labels_have_others() {
        let name = |schema: Option<&str>, name: &str| QualifiedName {
            schema: schema.map(str::to_owned),
            name: name.to_owned(),
        };
        let mood = name(None, "mood");
        assert_eq!(number_of(&mood), number_of(&name(None, "Mood")));
        assert_ne!(number_of(&mood), number_of(&name(Some("s"), "mood")));
        assert!(is_enumeration(number_of(&mood)) && !is_enumeration(array_of(number_of(&mood))));
        assert_ne!(number_of_label(&mood, "sad"), number_of_label(&mood, "ok"));
    }
}
