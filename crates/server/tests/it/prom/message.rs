//! Messages as a sender encodes them.

/// A message to which fields are added.
#[derive(Default, Clone)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn varint(mut self, field: u64, value: u64) -> Self {
        self.raw(field << 3);
        self.raw(value);
        self
    }

    pub(super) fn double(mut self, field: u64, value: f64) -> Self {
        self.raw(field << 3 | 1);
        self.0.extend(value.to_bits().to_le_bytes());
        self
    }

    /// A signed number in the form of `sint32` and `sint64`.
    pub(super) fn signed(self, field: u64, value: i64) -> Self {
        self.varint(field, zigzag(value))
    }

    pub(super) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.raw(field << 3 | 2);
        self.raw(value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(super) fn packed(self, field: u64, values: &[u64]) -> Self {
        let mut packed = Self::default();
        values.iter().for_each(|value| packed.raw(*value));
        self.bytes(field, &packed.0)
    }

    pub(crate) fn snappy(&self) -> Vec<u8> {
        snap::raw::Encoder::new().compress_vec(&self.0).unwrap()
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The native histogram of whole numbers with ten observations, in buckets that grow by a factor of two: four of them
/// from -2 to -1, two near zero, one up to 1, and three up to 2.
pub(super) fn histogram(time: i64) -> Message {
    let span = |offset, length| Message::default().signed(1, offset).varint(2, length).0;
    let message = Message::default().varint(1, 10).double(3, 18.5).double(5, 0.001).varint(6, 2);
    let negative = message.bytes(8, &span(1, 1)).packed(9, &[zigzag(4)]);
    negative.bytes(11, &span(0, 2)).packed(12, &[zigzag(1), zigzag(2)]).varint(15, time as u64)
}

/// A series of version 1 that has native histograms.
pub(super) fn with_histograms(series: Message, histograms: &[Message]) -> Message {
    histograms.iter().fold(series, |series, histogram| series.bytes(4, &histogram.0))
}

/// An exemplar of version 1 with one label.
pub(super) fn exemplar_v1(label: (&str, &str), value: f64, time: i64) -> Message {
    let label = Message::default().bytes(1, label.0.as_bytes()).bytes(2, label.1.as_bytes());
    Message::default().bytes(1, &label.0).double(2, value).varint(3, time as u64)
}

pub(super) fn sample(time: i64, value: f64) -> Message {
    Message::default().double(1, value).varint(2, time as u64)
}

/// A series of version 1.
pub(crate) fn series_v1(labels: &[(&str, &str)], samples: &[(i64, f64)]) -> Message {
    let mut message = Message::default();
    for (name, value) in labels {
        message = message.bytes(1, &Message::default().bytes(1, name.as_bytes()).bytes(2, value.as_bytes()).0);
    }
    for (time, value) in samples {
        message = message.bytes(2, &sample(*time, *value).0);
    }
    message
}

/// A request of version 1.
pub(crate) fn request_v1(series: &[Message]) -> Message {
    series.iter().fold(Message::default(), |request, series| request.bytes(1, &series.0))
}
