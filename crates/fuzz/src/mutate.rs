//! Mutations: of single bits, possible lengths, whole parts, and text.

use atsdb_testkit::sample::Random;

/// The maximum length of an input.
const BYTES_MAX: usize = 256 << 10;

/// Lengths, counts and offsets that are often handled wrongly.
const NUMBERS: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xffff, 1 << 20, i32::MAX as u64, u32::MAX as u64, 1 << 40, 1 << 62, i64::MAX as u64, u64::MAX];

/// Pieces of text that have a meaning in some parser.
const WORDS: [&str; 28] = [
    "\"",
    "'",
    "\\",
    "\n",
    "\r\n",
    "\0",
    ",",
    ";",
    "{",
    "}",
    "[[",
    "]",
    "(",
    ")",
    "\u{feff}",
    "NaN",
    "-0",
    "1e400",
    "9223372036854775808",
    "-9223372036854775808",
    "0000-00-00",
    "9999-12-31T23:59:60Z",
    "NULL",
    "--",
    "/*",
    "%ff",
    "\u{1f600}",
    "$$",
];

/// A new input, derived from one of the corpus; it depends on the state of `random`.
pub(crate) fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = picked(corpus, random).to_vec();
    for _ in 0..=random.below(4) {
        once(&mut bytes, corpus, random);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn picked<'a>(corpus: &'a [Vec<u8>], random: &mut Random) -> &'a [u8] {
    &corpus[random.below(corpus.len() as u64) as usize]
}

/// A position up to `end`, often near the beginning, where headers are.
fn place(end: usize, random: &mut Random) -> usize {
    let end = if random.below(2) == 0 { end } else { end.min(64) };
    random.below(end as u64 + 1) as usize
}

fn range(bytes: &[u8], random: &mut Random) -> (usize, usize) {
    let start = place(bytes.len(), random);
    let length = place((bytes.len() - start).min(200), random);
    (start, start + length)
}

fn once(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = place(bytes.len().saturating_sub(1), random);
    match random.below(11) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        2 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
        3 => length(bytes, at, random),
        4 => bytes.truncate(at),
        5 => {
            let (start, end) = range(bytes, random);
            bytes.drain(start..end);
        }
        6 => {
            let (start, end) = range(bytes, random);
            let part = bytes[start..end].to_vec();
            let times = 1 + random.below(20) as usize;
            bytes.splice(end..end, part.repeat(times));
        }
        7 => {
            let other = picked(corpus, random).to_vec();
            let (start, end) = range(&other, random);
            let (from, to) = range(bytes, random);
            bytes.splice(from..to, other[start..end].iter().copied());
        }
        8 => digits(bytes, at, random),
        _ => {
            let word = WORDS[random.below(WORDS.len() as u64) as usize];
            let at = at.min(bytes.len());
            bytes.splice(at..at, word.bytes());
        }
    }
}

/// Overwrites 2, 4 or 8 bytes that may be a length.
fn length(bytes: &mut [u8], at: usize, random: &mut Random) {
    let number = match random.below(3) {
        0 => bytes.len() as u64 + random.below(3),
        _ => NUMBERS[random.below(NUMBERS.len() as u64) as usize],
    };
    let width = [2, 4, 8][random.below(3) as usize];
    let written = if random.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
    let part = if random.below(2) == 0 { &written[..width] } else { &written[8 - width..] };
    bytes.iter_mut().skip(at).zip(part).for_each(|(byte, new)| *byte = *new);
}

/// Replaces a number in digits by another one.
fn digits(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = bytes.iter().skip(at).position(u8::is_ascii_digit).map(|found| at + found) else { return };
    let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = NUMBERS[random.below(NUMBERS.len() as u64) as usize].to_string();
    bytes.splice(start..end, number.bytes());
}
