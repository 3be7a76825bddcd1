//! Workloads and contestants by name.

use crate::contestant::Contestant;
use crate::server::ServerUrls;
use crate::workload::Workload;
use crate::{contestants, workloads};
use atsdb::count_text::format_count;
use atsdb::{Error, Result};

/// Something that can be named in [`RunOptions`](crate::RunOptions).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// `workload` or `contestant`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// A contestant's version, or why it cannot run here and how to install it.
    pub presence: std::result::Result<String, String>,
}

/// Returns everything that can be named, workloads first. `urls` names servers that run already.
pub fn list(urls: &ServerUrls) -> Vec<Listing> {
    let workloads = workloads::all().iter().map(|workload| Listing {
        kind: "workload",
        name: workload.name(),
        summary: workload.summary(),
        presence: Ok(match (format_count(workload.rows_default()), format_count(workload.rows_published())) {
            (usual, full) if usual == full => format!("{usual} rows"),
            (usual, full) => format!("{usual} rows; --full: {full}"),
        }),
    });
    let contestants = contestants::all().iter().map(|contestant| Listing {
        kind: "contestant",
        name: contestant.name(),
        summary: contestant.summary(),
        presence: contestant.version(urls).map_err(|failure| failure.to_string()),
    });
    workloads.chain(contestants).collect()
}

/// The workloads with these names, or all without names.
pub(super) fn workloads_named(names: &[String]) -> Result<Vec<&'static dyn Workload>> {
    if names.is_empty() {
        return Ok(workloads::all().to_vec());
    }
    names.iter().map(|name| find("workload", name, workloads::all(), |workload| workload.name())).collect()
}

/// The workload of this name, the one that needs a file included.
pub(super) fn any_workload_named(name: &str) -> Result<&'static dyn Workload> {
    find("workload", name, workloads::all_and_advise(), |workload| workload.name())
}

/// The contestants with these names, or all without names. The name of a family, such as `mariadb`, means all of its
/// members.
pub(super) fn contestants_named(names: &[String]) -> Result<Vec<&'static dyn Contestant>> {
    if names.is_empty() {
        return Ok(contestants::all().to_vec());
    }
    let mut chosen = Vec::new();
    for name in names {
        let family = format!("{}:", name.to_ascii_lowercase());
        let has_the_name = contestants::all().iter().any(|contestant| contestant.name().eq_ignore_ascii_case(name));
        let members = contestants::all().iter().filter(|contestant| contestant.name().starts_with(&family));
        let members: Vec<_> = members.copied().collect();
        if has_the_name || members.is_empty() {
            chosen.push(contestant_named(name)?);
        } else {
            chosen.extend(members);
        }
    }
    Ok(chosen)
}

/// The contestant of exactly this name.
pub(super) fn contestant_named(name: &str) -> Result<&'static dyn Contestant> {
    find("contestant", name, contestants::all(), |contestant| contestant.name())
}

fn find<T: ?Sized>(
    kind: &str,
    name: &str,
    all: &[&'static T],
    name_of: impl Fn(&T) -> &'static str,
) -> Result<&'static T> {
    let found = all.iter().find(|candidate| name_of(candidate).eq_ignore_ascii_case(name)).copied();
    found.ok_or_else(|| {
        let unknown = atsdb::name::unknown_name(kind, name, all.iter().map(|candidate| name_of(candidate)));
        let usage = Error::usage(unknown.message());
        match unknown.hint() {
            Some(hint) => usage.with_hint(hint),
            None => usage,
        }
    })
}
