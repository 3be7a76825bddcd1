//! Counts as messages show them.

/// Formats a count in groups of three digits: `1,234,567`.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(format_count), ["0", "999", "1,000", "12,345,678"]);
    }
}
