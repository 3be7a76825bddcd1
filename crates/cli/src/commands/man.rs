//! `atsdb man`: the manual, generated from the same declaration as `--help`.

use crate::args::{Cli, ManArgs};
use crate::output::destination::{Compression, Destination};
use atsdb::{Error, ErrorKind, Result};
use clap::CommandFactory;
use clap_mangen::Man;

/// Prints the page of the program, or writes all pages into a folder.
pub(super) fn run(args: &ManArgs) -> Result<()> {
    if args.reference {
        return super::report::write_text(&super::reference::page());
    }
    if args.functions {
        return super::report::write_text(&super::functions_page::page()?);
    }
    let mut program = Cli::command();
    // Names each verb `atsdb-VERB`.
    program.build();
    let Some(folder) = &args.dir else {
        return write_page(program, Destination::stdout());
    };
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::new(ErrorKind::Unavailable, format!("cannot create {}: {error}", folder.display())).with_source(error)
    })?;
    for verb in program.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("atsdb-{}.1", verb.get_name());
        write_page(verb.clone(), Destination::file(&folder.join(name), Compression::None)?)?;
    }
    write_page(program, Destination::file(&folder.join("atsdb.1"), Compression::None)?)
}

fn write_page(command: clap::Command, mut out: Destination) -> Result<()> {
    let mut page = Vec::new();
    // With the date, the page would differ every day.
    let man = Man::new(command).date("").source("atsdb").manual("atsdb");
    man.render(&mut page).map_err(|error| Error::internal(format!("cannot make the man page: {error}")))?;
    out.put(&page)?;
    out.complete()
}
