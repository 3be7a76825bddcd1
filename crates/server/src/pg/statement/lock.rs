//! `LOCK TABLE`.

use atsdb::sql::Words;

/// Parses the rest of `LOCK TABLE names IN ACCESS SHARE MODE`. Returns the names, or `None` for other locks.
pub(super) fn shared_lock(mut words: Words<'_>) -> Option<Vec<Vec<String>>> {
    words.accept("table");
    let mut tables = Vec::new();
    loop {
        words.accept("only");
        let mut parts = vec![words.name().ok()?];
        while words.accept_symbol('.') {
            parts.push(words.name().ok()?);
        }
        words.accept_symbol('*');
        tables.push(parts);
        if !words.accept_symbol(',') {
            break;
        }
    }
    if !["in", "access", "share", "mode"].iter().all(|word| words.accept(word)) {
        return None;
    }
    words.accept("nowait");
    words.end().ok()?;
    Some(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_weakest_lock_is_read() {
        let read = |text| shared_lock(Words::new(text));
        let names = |names: &[&[&str]]| -> Option<Vec<Vec<String>>> {
            Some(names.iter().map(|parts| parts.iter().map(|part| (*part).to_owned()).collect()).collect())
        };
        assert_eq!(read("TABLE t IN ACCESS SHARE MODE"), names(&[&["t"]]));
        assert_eq!(read("ONLY s.t, \"U\" * IN ACCESS SHARE MODE NOWAIT;"), names(&[&["s", "t"], &["U"]]));
        for other in ["TABLE t", "t IN ROW SHARE MODE", "t IN ACCESS EXCLUSIVE MODE", "t IN ACCESS SHARE MODE x", ""] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
