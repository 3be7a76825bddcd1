//! Layers as a test: allowed imports between crates, rooms that import in one direction, and modules without cycles.

mod imports;

use imports::{Modules, cycles};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The packages beside the folder of crates.
const PACKAGES: [&str; 3] = ["adbc", "python", "sqlite-extension"];

fn folder(name: &str) -> PathBuf {
    if PACKAGES.contains(&name) { root().join(name) } else { root().join("crates").join(name) }
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.chain(PACKAGES.map(str::to_owned)).collect();
    names.sort();
    names
}

fn modules(name: &str) -> Modules {
    Modules::read(&folder(name).join("src"))
}

/// Returns the floor of each crate according to ARCHITECTURE.md.
fn floors() -> BTreeMap<String, u32> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut floors = BTreeMap::new();
    for line in text.lines() {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let Some(Ok(floor)) = cells.next().map(str::parse) else { continue };
        for linked in cells.next().unwrap_or_default().split("](").skip(1) {
            let linked = linked.split(')').next().unwrap().trim_end_matches('/');
            floors.insert(linked.strip_prefix("crates/").unwrap_or(linked).to_owned(), floor);
        }
    }
    floors
}

/// Returns the project's crates on which a crate depends, except for its tests.
fn dependencies(name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
    let all = text.split("\n[").find(|part| part.starts_with("dependencies]")).unwrap_or_default();
    let names = all.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    let own = names.filter_map(|name| if name == "atsdb" { Some("atsdb") } else { name.strip_prefix("atsdb-") });
    own.map(str::to_owned).collect()
}

#[test]
fn a_crate_imports_only_crates_of_floors_below_it() {
    let floors = floors();
    assert!(floors.len() > 12, "the house has {} crates", floors.len());
    for (name, floor) in &floors {
        for other in dependencies(name) {
            assert!(floors[&other] < *floor, "{name} on floor {floor} imports {other} on floor {}", floors[&other]);
        }
    }
}

#[test]
fn modules_import_each_other_in_no_circle() {
    for name in crates() {
        let found = cycles(&modules(&name).imports());
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn rooms_import_only_rooms_below_them() {
    for name in crates() {
        let modules = modules(&name);
        let order = modules.rooms();
        let place = |room: &str| order.iter().position(|other| other == room);
        for (module, imported) in modules.imports() {
            for other in &imported {
                let (Some(from), Some(to)) = (module.first(), other.first()) else { continue };
                let (Some(above), Some(below)) = (place(from), place(to)) else { continue };
                assert!(above <= below, "{name}: {} imports {}", module.join("::"), other.join("::"));
            }
        }
        let listed: BTreeSet<&String> = order.iter().collect();
        let there: BTreeSet<&String> = modules.names().filter_map(|module| module.first()).collect();
        assert!(
            order.is_empty() || listed == there,
            "{name}: the rooms of lib.rs are {listed:?}, the modules {there:?}"
        );
    }
}

#[test]
fn a_module_with_children_is_a_folder_with_mod_rs() {
    for name in crates() {
        for module in modules(&name).names() {
            let folder = module.iter().fold(folder(&name).join("src"), |path, part| path.join(part));
            let has_both = folder.is_dir() && folder.with_extension("rs").is_file();
            assert!(!has_both, "{} is beside a folder of that name: make it mod.rs", folder.display());
        }
    }
}
