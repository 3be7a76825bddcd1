//! The imports between the modules of a crate, read from the source: `use`, and paths that begin with `crate`, `super`,
//! `self` or a child's name. Unit tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module, given by its path in the crate. The root has an empty path.
pub(crate) type Module = Vec<String>;
/// The modules that each module imports.
pub(crate) type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The modules of a crate with their source.
pub(crate) struct Modules(BTreeMap<Module, String>);

impl Modules {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut modules = BTreeMap::new();
        read_folder(folder, &Vec::new(), &mut modules);
        let of_tests: Vec<Module> = modules.iter().flat_map(|(module, source)| test_modules(module, source)).collect();
        of_tests.iter().for_each(|module| drop(modules.remove(module)));
        assert!(!modules.is_empty(), "no source below {}", folder.display());
        Self(modules)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Module> {
        self.0.keys()
    }

    /// The modules whose documentation has a table of rooms, each with its rooms from the top.
    pub(crate) fn rooms(&self) -> BTreeMap<&Module, Vec<String>> {
        self.0.iter().filter_map(|(module, source)| Some((module, listed_rooms(source)?))).collect()
    }

    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (module, source) in &self.0 {
            let code = code_of(source);
            let paths = paths_of(&code).into_iter().filter_map(|path| self.resolve(module, &path));
            imports.insert(module.clone(), paths.filter(|imported| imported != module).collect());
        }
        imports
    }

    /// Returns the module to which a path leads from another module, or `None` if it leaves the crate.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<Module> {
        let mut parts = path.iter().map(String::as_str).peekable();
        let mut place = match *parts.peek()? {
            "crate" => Vec::new(),
            "self" | "super" => from.clone(),
            child => {
                let own = [from.as_slice(), &[child.to_owned()]].concat();
                if !self.0.contains_key(&own) {
                    return None;
                }
                from.clone()
            }
        };
        for part in parts {
            match part {
                "crate" | "self" => {}
                "super" => drop(place.pop()),
                name => place.push(name.to_owned()),
            }
        }
        while !self.0.contains_key(&place) {
            place.pop()?;
        }
        Some(place)
    }
}

/// Returns the rooms that a module's documentation lists, or `None` if it has no table of rooms.
fn listed_rooms(source: &str) -> Option<Vec<String>> {
    let is_heading = |line: &&str| line.starts_with("//! | room |") || line.starts_with("//! | module |");
    let lines = source.lines().skip_while(|line| !is_heading(line)).take_while(|line| line.starts_with("//! |"));
    let rows: Vec<String> =
        lines.filter_map(|line| Some(line.strip_prefix("//! | `")?.split('`').next()?.to_owned())).collect();
    (!rows.is_empty()).then_some(rows)
}

fn read_folder(folder: &Path, above: &Module, modules: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let inside = [above.as_slice(), std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            read_folder(&path, &inside, modules);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let is_own = matches!(name.as_str(), "lib" | "main" | "mod");
            let module = if is_own { above.clone() } else { inside };
            // A crate may have both lib.rs and main.rs: they are one module here.
            let source: &mut String = modules.entry(module).or_default();
            source.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// Returns the modules that are declared for tests alone and have files of their own.
fn test_modules(module: &Module, source: &str) -> Vec<Module> {
    let declared = source.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.lines().next()?.strip_suffix(';'));
    declared.map(|name| [module.as_slice(), &[name.to_owned()]].concat()).collect()
}

/// Returns the source without comments and without the module of unit tests, which comes last in a file.
fn code_of(source: &str) -> String {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns all paths in a source, with those in braces one by one.
fn paths_of(code: &str) -> Vec<Vec<String>> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (bytes, mut at, mut paths) = (code.as_bytes(), 0, Vec::new());
    while at < bytes.len() {
        let begins = is_name(bytes[at]) && (at == 0 || !is_name(bytes[at - 1])) && !code[..at].ends_with("::");
        let end = at + bytes[at..].iter().take_while(|byte| is_name(**byte)).count();
        if begins && code[end..].starts_with("::") {
            let (found, next) = tree(code, at);
            paths.extend(found);
            at = next.max(end);
        } else {
            at = end.max(at + 1);
        }
    }
    paths
}

/// Returns the paths of a tree like `a::{b, c::d}` that begins at a position, and the position of its end.
fn tree(code: &str, mut at: usize) -> (Vec<Vec<String>>, usize) {
    let mut path = Vec::new();
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        let rest = &code[at..];
        let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        if !name.is_empty() {
            at += name.len();
            path.push(name);
            match code[at..].strip_prefix("::") {
                Some(_) => at += 2,
                None => return (vec![path], at),
            }
        } else if rest.starts_with('{') && !path.is_empty() {
            at += 1;
            let mut paths = Vec::new();
            while let Some(next) = code[at..].chars().next().filter(|letter| *letter != '}') {
                if code[at..].starts_with("as ") {
                    // The preceding branch is given another name.
                    at += code[at..].find([',', '}']).unwrap_or(code.len() - at);
                } else if next.is_alphanumeric() || next == '_' {
                    let (branches, end) = tree(code, at);
                    paths.extend(branches.into_iter().map(|branch| [path.as_slice(), &branch].concat()));
                    at = end;
                } else {
                    at += next.len_utf8();
                }
            }
            return (paths, at + 1);
        } else {
            return (vec![path], at);
        }
    }
}

/// Returns the groups of modules that import each other, directly or indirectly.
pub(crate) fn cycles(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reachable(imports, module))).collect();
    let mut groups = BTreeSet::new();
    for (module, from_here) in reached.iter().filter(|(module, from_here)| from_here.contains(*module)) {
        let together = from_here.iter().filter(|other| reached.get(**other).is_some_and(|back| back.contains(module)));
        groups.insert(together.map(|other| other.join("::")).collect::<Vec<_>>());
    }
    groups.into_iter().collect()
}

fn reachable<'a>(imports: &'a Imports, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Module> = imports[from].iter().collect();
    while let Some(module) = waiting.pop() {
        if reached.insert(module) {
            waiting.extend(imports.get(module).into_iter().flatten());
        }
    }
    reached
}

#[test]
fn paths_are_found_in_braces_and_in_code() {
    let code = "use crate::a::{b::C as B, d::{self, E}};\nfn f() { super::g::h(); x.iter::<u8>(); }";
    let paths: Vec<String> = paths_of(code).iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["crate::a::b::C", "crate::a::d::self", "crate::a::d::E", "super::g::h", "iter"]);
}

#[test]
fn a_cycle_over_three_modules_is_found_and_a_shared_import_is_not_one() {
    let of = |pairs: &[(&str, &[&str])]| -> Imports {
        let name = |name: &str| vec![name.to_owned()];
        pairs.iter().map(|(from, to)| (name(from), to.iter().map(|to| name(to)).collect())).collect()
    };
    assert_eq!(cycles(&of(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])])), [["a", "b", "c"]]);
    assert!(cycles(&of(&[("a", &["c"]), ("b", &["c"]), ("c", &[])])).is_empty());
}
