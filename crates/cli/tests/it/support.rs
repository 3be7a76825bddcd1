//! Runs the program in a temporary folder.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A temporary folder in which the program runs.
pub(crate) struct Case {
    folder: TempDir,
}

/// The result of a run of the program.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    fn new(output: Output) -> Self {
        let code = output.status.code().unwrap_or(-1);
        Self { code, stdout: output.stdout, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
    }

    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::new(command.output().expect("the program runs"))
    }

    /// Stdout as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("stdout is text")
    }

    fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Requires success, with nothing on stderr except reports of what was done.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        let complaints: Vec<&str> = self.stderr.lines().filter(|line| !is_report(line)).collect();
        assert_eq!((self.code, complaints.join("\n").as_str()), (0, ""), "stdout: {}", self.stdout_text());
        self
    }

    /// Requires this exit code and these texts in the error.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in: {}", self.stderr);
        }
        self
    }
}

/// Returns whether a line reports what a command did: `INSERT 3`, `3 rows written to x.csv, 90 B`.
fn is_report(line: &str) -> bool {
    let words = line.trim_end_matches(|last: char| last.is_ascii_digit() || last == ' ');
    let is_verb = !words.is_empty() && words.chars().all(|letter| letter.is_ascii_uppercase() || letter == ' ');
    is_verb || line.contains(" written to ") || line.ends_with(" changed")
}

impl Case {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).expect("a file");
        self.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// The names of all files in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A command that runs the program in the folder, without the caller's settings.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = program(self.folder.path());
        command.args(arguments);
        command
    }

    /// The same command with exactly these signals ignored, whatever the test's own process ignores.
    pub(crate) fn command_ignoring<A: AsRef<OsStr>>(&self, signals: &str, arguments: &[A]) -> Command {
        let own = self.command(arguments);
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,TERM,HUP");
        if !signals.is_empty() {
            command.arg(format!("--ignore-signal={signals}"));
        }
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.arg(own.get_program()).args(own.get_args()).current_dir(&self.folder);
        command
    }

    /// Runs the program with at most this many open files.
    pub(crate) fn run_with_handles<A: AsRef<OsStr>>(&self, count: u32, arguments: &[A]) -> Run {
        self.run_with_limit("-n", count, arguments)
    }

    /// Runs the program with files of at most this many blocks of the shell, of 512 or 1,024 bytes.
    pub(crate) fn run_with_file_blocks<A: AsRef<OsStr>>(&self, count: u32, arguments: &[A]) -> Run {
        self.run_with_limit("-f", count, arguments)
    }

    /// Runs the program with at most this many KiB of memory, which includes what is reserved and not used.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_with_memory<A: AsRef<OsStr>>(&self, count: u32, arguments: &[A]) -> Run {
        self.run_with_limit("-v", count, arguments)
    }

    /// A command that runs the program with at most this many KiB of memory.
    #[cfg(target_os = "linux")]
    pub(crate) fn command_with_memory<A: AsRef<OsStr>>(&self, count: u32, arguments: &[A]) -> Command {
        self.command_with_limit("-v", count, arguments)
    }

    /// Runs the program where no thread can be started, unless its stack has a size of its own: all others would need
    /// more address space than there is.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_without_threads<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Run {
        let mut command = self.command(arguments);
        command.env("RUST_MIN_STACK", (1_u64 << 47).to_string());
        Run::new(command.stdin(Stdio::null()).output().expect("the program runs"))
    }

    fn run_with_limit<A: AsRef<OsStr>>(&self, flag: &str, count: u32, arguments: &[A]) -> Run {
        let mut command = self.command_with_limit(flag, count, arguments);
        Run::new(command.stdin(Stdio::null()).output().expect("the program runs"))
    }

    fn command_with_limit<A: AsRef<OsStr>>(&self, flag: &str, count: u32, arguments: &[A]) -> Command {
        let own = self.command(arguments);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit \"$1\" \"$2\"; shift 2; exec \"$@\"", "sh", flag, &count.to_string()]);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.arg(own.get_program()).args(own.get_args()).current_dir(&self.folder);
        command
    }

    /// Runs the program with nothing on stdin.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Run {
        Run::new(self.command(arguments).stdin(Stdio::null()).output().expect("the program runs"))
    }

    /// Runs the program with a text on stdin.
    pub(crate) fn run_with<A: AsRef<OsStr>>(&self, arguments: &[A], input: impl AsRef<[u8]>) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.as_ref().to_vec();
        // A program that fails early does not read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let run = Run::new(child.wait_with_output().expect("the program ends"));
        writer.join().expect("the input is written");
        run
    }

    /// Returns a query's answer as CSV, without the header.
    #[track_caller]
    pub(crate) fn query(&self, url: &str, sql: &str) -> String {
        let text = self.run(&["sql", url, sql, "--format", "csv"]).well().text();
        text.split_once('\n').map(|(_, rows)| rows.trim_end().to_owned()).unwrap_or_default()
    }

    /// Creates a store named `a.db` with a table that has a few rows of every sort.
    pub(crate) fn with_store(self) -> Self {
        self.write("setup.sql", SETUP);
        self.run(&["sql", "a.db", "-f", "setup.sql"]).well();
        self
    }
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atsdb"));
    command.current_dir(folder);
    // The lab's variables name programs that it needs.
    let is_setting = |name: &str| name == "NO_COLOR" || name.starts_with("ATSDB_") && !name.starts_with("ATSDB_LAB_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.env("XDG_STATE_HOME", folder).env("XDG_CACHE_HOME", folder);
    command
}

const SETUP: &str = "\
CREATE TABLE readings (time TIMESTAMP, sensor TEXT, value DOUBLE, count BIGINT, good BOOLEAN)
  WITH (time = 'time', slice = 'day', map = 'sensor:u8');
INSERT INTO readings VALUES
  ('2024-03-01T00:00:00Z', 'a', 0.1, 9223372036854775807, true),
  ('2024-03-01T00:00:01.5Z', 'b,\"c', NULL, -1, false),
  ('2024-03-02T00:00:00Z', '', 1e300, NULL, NULL);
";
