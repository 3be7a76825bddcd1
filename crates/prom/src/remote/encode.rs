//! Writing protocol buffers.

/// A message that grows field by field.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u32, kind: u8) {
        self.raw_varint(u64::from(field) << 3 | u64::from(kind));
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn varint(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.raw_varint(value);
    }

    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// A signed number in the form of `sint32` and `sint64`.
    pub(crate) fn signed(&mut self, field: u32, value: i64) {
        self.varint(field, (value << 1 ^ value >> 63).cast_unsigned());
    }

    /// Packed numbers.
    pub(crate) fn doubles(&mut self, field: u32, values: &[f64]) {
        if values.is_empty() {
            return;
        }
        self.key(field, 2);
        self.raw_varint(size_of_val(values) as u64);
        for value in values {
            self.0.extend_from_slice(&value.to_bits().to_le_bytes());
        }
    }

    pub(crate) fn bytes(&mut self, field: u32, value: &[u8]) {
        self.key(field, 2);
        self.raw_varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A message inside this one.
    pub(crate) fn inner(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}
