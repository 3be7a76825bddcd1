//! Layers as a test: allowed imports between crates, rooms that import in one direction, and modules without cycles.

mod imports;

use imports::{Module, Modules, cycles};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folder of a crate. Packages are beside the folder of crates.
fn folder(name: &str) -> PathBuf {
    let package = root().join(name);
    if package.join("Cargo.toml").is_file() { package } else { root().join("crates").join(name) }
}

/// Returns the names of all crates and packages: the folders with a manifest.
fn crates() -> BTreeSet<String> {
    let folders = [root(), root().join("crates")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let manifests = entries.filter(|path| path.join("Cargo.toml").is_file());
    manifests.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
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
fn every_crate_stands_on_a_floor() {
    let listed: BTreeSet<String> = floors().into_keys().collect();
    assert_eq!(listed, crates(), "the crates of ARCHITECTURE.md's table, and those that are there");
}

#[test]
fn a_crate_imports_only_crates_of_floors_below_it() {
    let floors = floors();
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

/// Returns the room of an owner to which a module belongs, or `None` if the module is outside of all of them.
fn room_of<'a>(owner: &[String], module: &'a [String]) -> Option<&'a String> {
    module.strip_prefix(owner)?.first()
}

#[test]
fn rooms_import_only_rooms_below_them() {
    for name in crates() {
        let modules = modules(&name);
        let imports = modules.imports();
        for (owner, order) in modules.rooms() {
            let position = |module: &Module| {
                let own = room_of(owner, module)?;
                order.iter().position(|room| room == own)
            };
            for (module, imported) in &imports {
                for other in imported {
                    let (Some(above), Some(below)) = (position(module), position(other)) else { continue };
                    assert!(above <= below, "{name}: {} imports {}", module.join("::"), other.join("::"));
                }
            }
            let listed: BTreeSet<&String> = order.iter().collect();
            let there: BTreeSet<&String> = modules.names().filter_map(|module| room_of(owner, module)).collect();
            assert!(listed == there, "{name}: {owner:?} lists the rooms {listed:?}, but has the modules {there:?}");
        }
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
