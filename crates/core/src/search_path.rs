//! The search path: the schemas in which a session looks up unqualified names.

use crate::name::same_name;
use crate::qualified_name::PUBLIC_SCHEMA;
use std::sync::Arc;

/// The name in a path that stands for the schema of the user's name. No schema belongs to a user, so it is ignored.
const USER: &str = "$user";

/// The other name of the schema `public`.
const MAIN: &str = "main";

/// Schemas, in the order in which they are searched. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SearchPath {
    /// The given names; `None` is the default.
    schemas: Option<Arc<[String]>>,
}

impl Default for SearchPath {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl SearchPath {
    /// `"$user", public`.
    pub const DEFAULT: Self = Self { schemas: None };

    /// A path of these schemas, which need not exist.
    pub fn new(schemas: Vec<String>) -> Self {
        let is_default = matches!(schemas.as_slice(), [user, public] if user == USER && public == PUBLIC_SCHEMA);
        Self { schemas: (!is_default).then(|| schemas.into()) }
    }

    /// Parses a list of names, each of which may be in double quotes; `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut schemas, mut rest) = (Vec::new(), text.trim());
        while !rest.is_empty() {
            let (name, after) = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let mut end = quoted.find('"')?;
                    while quoted[end + 1..].starts_with('"') {
                        end += 2 + quoted[end + 2..].find('"')?;
                    }
                    (quoted[..end].replace("\"\"", "\""), &quoted[end + 1..])
                }
                None => {
                    let end = rest.find(',').unwrap_or(rest.len());
                    (rest[..end].trim().to_owned(), &rest[end..])
                }
            };
            if name.is_empty() || name.contains(char::is_control) {
                return None;
            }
            schemas.push(name);
            rest = match after.trim_start() {
                "" => "",
                after => match after.strip_prefix(',')?.trim_start() {
                    "" => return None,
                    next => next,
                },
            };
        }
        Some(Self::new(schemas))
    }

    /// The schemas as they were given.
    pub fn names(&self) -> Vec<&str> {
        match &self.schemas {
            Some(schemas) => schemas.iter().map(String::as_str).collect(),
            None => vec![USER, PUBLIC_SCHEMA],
        }
    }

    /// The schemas that are searched, in order; `None` is `public`.
    pub fn schemas(&self) -> impl Iterator<Item = Option<&str>> {
        let names = self.names().into_iter().filter(|name| *name != USER);
        names.map(|name| (!is_public(name)).then_some(name))
    }

    /// Returns whether `public` is searched and nothing else, as without a path.
    pub fn is_public(&self) -> bool {
        let mut schemas = self.schemas();
        schemas.next() == Some(None) && schemas.all(|schema| schema.is_none())
    }

    /// The schema of new tables: the first schema of the path that exists or is `public`. An inner `None` is `public`.
    /// The result is `None` if the path has no such schema.
    pub fn current<'a>(&self, schemas: &'a [String]) -> Option<Option<&'a str>> {
        self.existing(schemas).into_iter().next()
    }

    /// The schemas of the path that exist, spelled as they were created; `None` is `public`.
    pub fn existing<'a>(&self, schemas: &'a [String]) -> Vec<Option<&'a str>> {
        let existing = |schema: Option<&str>| match schema {
            None => Some(None),
            Some(name) => schemas.iter().find(|other| same_name(other, name)).map(|found| Some(found.as_str())),
        };
        self.schemas().filter_map(existing).collect()
    }
}

/// Returns whether this is a name of the schema `public`: its own, or SQLite's.
pub fn is_public(schema: &str) -> bool {
    same_name(schema, PUBLIC_SCHEMA) || same_name(schema, MAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_list_of_names() {
        for (text, names) in [
            ("a, \"B c\" ,\"d\"\"e\"", vec!["a", "B c", "d\"e"]),
            ("\"$user\", public", vec!["$user", "public"]),
            ("", vec![]),
        ] {
            assert_eq!(SearchPath::parse(text).unwrap().names(), names, "{text}");
        }
        for text in ["a,", ",a", "\"a", "\"\"", "\"a\" b"] {
            assert!(SearchPath::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_default_is_public() {
        let path = SearchPath::parse("\"$user\",public").unwrap();
        assert!(path == SearchPath::DEFAULT && path.is_public());
        assert!(SearchPath::parse("MAIN").unwrap().is_public());
        assert!(!SearchPath::parse("").unwrap().is_public());
        assert!(!SearchPath::parse("s, public").unwrap().is_public());
    }

    #[test]
    fn the_first_schema_that_exists_is_the_current_one() {
        let schemas = ["S".to_owned(), "t".to_owned()];
        let current = |text: &str| SearchPath::parse(text).unwrap().current(&schemas);
        assert_eq!(current("x, s, t"), Some(Some("S")));
        assert_eq!(current("x, public, t"), Some(None));
        assert_eq!(current("x"), None);
    }
}
