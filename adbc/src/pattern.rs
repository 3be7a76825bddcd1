//! Search patterns for names: `%` matches any text, `_` any one character. Case is ignored, as in SQL.

/// A filter for names. Without a pattern every name fits.
#[derive(Debug, Clone)]
pub(crate) struct NamePattern(Option<Vec<char>>);

impl NamePattern {
    pub(crate) fn new(pattern: Option<&str>) -> Self {
        Self(pattern.map(|pattern| pattern.to_lowercase().chars().collect()))
    }

    /// Whether a name fits.
    pub(crate) fn fits(&self, name: &str) -> bool {
        let Some(pattern) = &self.0 else { return true };
        let name: Vec<char> = name.to_lowercase().chars().collect();
        // Where to continue after the last `%` if the rest does not fit: one character later.
        let (mut at, mut in_name, mut retry) = (0, 0, None);
        while in_name < name.len() {
            match pattern.get(at) {
                Some('%') => {
                    at += 1;
                    retry = Some((at, in_name));
                }
                Some(wanted) if *wanted == '_' || *wanted == name[in_name] => (at, in_name) = (at + 1, in_name + 1),
                _ => match retry {
                    Some((after, from)) => {
                        (at, in_name) = (after, from + 1);
                        retry = Some((after, from + 1));
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|rest| *rest == '%')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_like_does_without_case() {
        let fits = |pattern: &str, name: &str| NamePattern::new(Some(pattern)).fits(name);
        for (pattern, name) in [
            ("readings", "Readings"),
            ("%", ""),
            ("%", "a"),
            ("r%s", "readings"),
            ("_ea%", "readings"),
            ("%a%a%", "banana"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("read", "readings"), ("_", ""), ("a%b", "abc"), ("%x%", "readings")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
        assert!(NamePattern::new(None).fits("anything") && fits("", ""));
    }
}
