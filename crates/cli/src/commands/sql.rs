//! `atsdb sql`: statements from the command line, a file or stdin; results to stdout or a file.

use crate::args::SqlArgs;
use crate::output::Format;
use crate::output::destination::{Compression, Destination};
use crate::session::script::{PieceReader, Runner};
use crate::session::settings::{self, Access};
use atsdb::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Runs the statements.
pub(super) fn run(args: SqlArgs) -> Result<()> {
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let by_ending = path.and_then(Format::of_path);
    let format = args.format.or(by_ending.map(|(format, _)| format)).unwrap_or(Format::Table);
    let compression = by_ending.map_or(Compression::None, |(_, compression)| compression);
    let access = if args.read_only { Access::Read } else { Access::Create };
    // An input that is not there is found before the store is created.
    let script = match (&args.sql, args.file.as_deref()) {
        (Some(_), _) => None,
        (None, Some(path)) if path != Path::new("-") => Some((open(path)?, path.display().to_string())),
        (None, _) => Some((Box::new(std::io::stdin().lock()) as Box<dyn BufRead>, "stdin".to_owned())),
    };
    let database = settings::open(&args.url, access, &args.store, Some(&args.write))?;
    let mut runner = Runner {
        session: settings::session(&database, access, &args.store, &args.query_limits)?,
        params: args.param,
        format,
        timing: args.timing,
        acknowledge: false,
        result_count: 0,
    };
    let mut out = match path {
        Some(path) => Destination::file(path, compression)?,
        None => Destination::stdout(),
    };
    match (args.sql, script) {
        (Some(sql), _) => runner.run(&sql, 1, None, &mut out)?,
        (None, Some((input, name))) => {
            let mut pieces = PieceReader::new(input, &name);
            while let Some(piece) = pieces.next_piece()? {
                runner.run(&piece.text, piece.first_line, Some(&name), &mut out)?;
            }
        }
        (None, None) => {}
    }
    out.complete()
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = File::open(path).map_err(|error| {
        Error::new(ErrorKind::NotFound, format!("cannot read {}: {error}", path.display())).with_source(error)
    })?;
    Ok(Box::new(BufReader::new(file)))
}
