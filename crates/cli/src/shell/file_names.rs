//! Completion of the names of files: in a statement's quotes, and after commands that take a file.

use std::path::Path;

/// The words after which a text in quotes is a file.
const BEFORE_FILES: [&str; 6] = ["FROM", "JOIN", "TO", "DESCRIBE", "SUMMARIZE", "COPY"];

/// The commands that take a file first.
const COMMANDS: [&str; 3] = [".read", ".import", "\\i"];

/// The start of the file's name before the cursor, and what it may become; `None` where no file is named.
pub(super) fn complete(before: &str) -> Option<(usize, Vec<String>)> {
    let start = start_of_name(before)?;
    Some((start, matching(&before[start..])))
}

fn start_of_name(before: &str) -> Option<usize> {
    let line = before.trim_start();
    if let Some((command, rest)) = line.split_once(' ')
        && COMMANDS.contains(&command)
    {
        let name = rest.trim_start();
        let quote = name.chars().next().filter(|first| matches!(first, '\'' | '"'));
        let name = quote.map_or(name, |_| &name[1..]);
        // Behind the file there may be a table.
        let is_open = quote.map_or(!name.contains(' '), |quote| !name.contains(quote));
        return is_open.then(|| before.len() - name.len());
    }
    if before.matches('\'').count().is_multiple_of(2) {
        return None;
    }
    let quote = before.rfind('\'')?;
    let word = before[..quote].split(|letter: char| !letter.is_ascii_alphabetic()).rfind(|word| !word.is_empty())?;
    BEFORE_FILES.iter().any(|known| known.eq_ignore_ascii_case(word)).then_some(quote + 1)
}

/// The files and folders whose paths begin so; folders end with a slash.
fn matching(typed: &str) -> Vec<String> {
    let (folder, start) = typed.rfind('/').map_or(("", typed), |slash| typed.split_at(slash + 1));
    let place = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_wanted = name.starts_with(start) && (start.starts_with('.') || !name.starts_with('.'));
            let slash = if entry.path().is_dir() { "/" } else { "" };
            is_wanted.then(|| format!("{folder}{name}{slash}"))
        })
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_in_quotes_and_behind_commands() {
        let name = |before: &'static str| start_of_name(before).map(|start| &before[start..]);
        assert_eq!(name("SELECT * FROM 'da"), Some("da"));
        assert_eq!(name("copy t to 'out/x"), Some("out/x"));
        assert_eq!(name("select * from read_csv('"), None);
        assert_eq!(name("SELECT * FROM t WHERE a = 'x"), None);
        assert_eq!(name("SELECT * FROM 'x.csv' WHERE"), None);
        assert_eq!((name(".read se"), name("\\i "), name(".read 'my f")), (Some("se"), Some(""), Some("my f")));
        assert_eq!((name(".import x.csv ta"), name(".schema t")), (None, None));
    }

    #[test]
    fn names_begin_as_typed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data.csv", "day.csv", ".hidden", "other"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("dark")).unwrap();
        let place = format!("{}/", folder.path().display());
        let of = |typed: &str| -> Vec<String> {
            let found = matching(&format!("{place}{typed}"));
            found.iter().map(|path| path[place.len()..].to_owned()).collect()
        };
        assert_eq!(of("da"), ["dark/", "data.csv", "day.csv"]);
        assert_eq!((of("."), of("x")), (vec![".hidden".to_owned()], Vec::new()));
        assert_eq!(of("").len(), 4);
    }
}
