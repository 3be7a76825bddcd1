//! Database servers for tests: started on loopback, with a data folder that vanishes with them.
//!
//! One of each kind serves all tests of a process, each with a database of its own; a test that kills its server starts
//! one for itself. Servers end with the process, however that ends. Data folders are copied from one that was made once
//! and lies in the target folder.

mod certificates;
mod galera;
mod mariadb;
mod mysql;
mod pooler;
mod postgres;
mod spider;

pub use galera::Cluster;
pub use pooler::Pooler;
pub use spider::Spider;

use crate::disk::SmallDisk;
use crate::skipped;
use certificates::Certificates;
use std::fs::File;
use std::io::{Error, Result};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user that tests connect as: an ordinary one.
pub const USER: &str = "tester";
/// Its password.
pub const PASSWORD: &str = "pass/word@1";
/// The password as it stands in a URL.
const PASSWORD_IN_URL: &str = "pass%2Fword%401";
/// What the names of data folders begin with; the number of the process follows.
const FOLDER_PREFIX: &str = "atsdb-test-";
/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(60);

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
}

/// A server that runs.
#[derive(Debug)]
pub struct TestServer {
    kind: Kind,
    port: u16,
    /// What its program is told besides.
    arguments: Vec<String>,
    /// Where its data lie, if not in its folder: unmounted before that goes.
    disk: Option<SmallDisk>,
    folder: TempDir,
    child: Mutex<Option<Child>>,
    databases: AtomicU32,
}

/// The server of that kind which all tests of this process share. None, and a word on stderr, where its programs are not
/// installed.
pub fn shared(kind: Kind) -> Option<&'static TestServer> {
    static SERVERS: [OnceLock<Option<TestServer>>; 3] = [const { OnceLock::new() }; 3];
    SERVERS[kind as usize].get_or_init(|| TestServer::start(kind)).as_ref()
}

impl TestServer {
    /// A server of one's own. None, and a word on stderr, where its programs are not installed.
    pub fn start(kind: Kind) -> Option<Self> {
        let server = Self::of(kind, new_folder(kind)?, Vec::new());
        server.resume();
        Some(server)
    }

    /// A server of one's own whose program is told this besides.
    pub fn start_with(kind: Kind, arguments: &[&str]) -> Option<Self> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let server = Self::of(kind, new_folder(kind)?, arguments);
        server.resume();
        Some(server)
    }

    /// A server that follows this one, a PostgreSQL: a standby, which has everything a little later.
    pub fn start_standby(&self) -> Self {
        let folder = own_folder().expect("a folder can be made");
        postgres::copy_to_follow(self.port, &folder.path().join("data")).expect("a server can be copied");
        let server = Self::of(self.kind, folder, Vec::new());
        server.resume();
        server
    }

    /// A server of one's own that encrypts, and proves to be `localhost`, which is none of its addresses, by a certificate
    /// of an authority of its own; and the file of that one's certificate.
    pub fn start_encrypting(kind: Kind) -> Option<(Self, PathBuf)> {
        let folder = new_folder(kind)?;
        let certificates = Certificates::make(folder.path())?;
        let arguments = match kind {
            Kind::Postgres => postgres::encryption(&certificates),
            Kind::Mariadb => mariadb::encryption(&certificates),
            Kind::Mysql => mysql::encryption(&certificates),
        };
        let server = Self::of(kind, folder, arguments);
        server.resume();
        Some((server, certificates.authority))
    }

    /// A server of one's own, whose data lie on a disk that has this much room left; what PostgreSQL writes ahead lies
    /// elsewhere. None, and a word on stderr, where mounting is not permitted.
    pub fn start_on_small_disk(kind: Kind, free_bytes: u64) -> Option<Self> {
        let folder = new_folder(kind)?;
        let disk = onto_a_disk(kind, folder.path()).expect("the data can be moved")?;
        let mut server = Self::of(kind, folder, Vec::new());
        server.disk = Some(disk);
        server.resume();
        let used = bytes_in(&server.data()).expect("du tells a size");
        server.disk()?.resize(used + free_bytes);
        Some(server)
    }

    fn of(kind: Kind, folder: TempDir, arguments: Vec<String>) -> Self {
        let (child, databases) = (Mutex::new(None), AtomicU32::new(0));
        Self { kind, port: free_port(), arguments, disk: None, folder, child, databases }
    }

    /// The disk of [`Self::start_on_small_disk`].
    pub fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    /// Starts it again, on the same port and data.
    pub fn resume(&self) {
        self.resume_with(&[]);
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.child().as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }

    fn resume_with(&self, arguments: &[&str]) {
        let start = Instant::now();
        self.spawn(arguments);
        while let Err(error) = self.try_administer("SELECT 1") {
            let ended = self.child().as_mut().and_then(|child| child.try_wait().ok().flatten());
            if start.elapsed() > START_MAX {
                let log = std::fs::read_to_string(self.log()).unwrap_or_default();
                panic!("the server does not start ({ended:?}): {error}\n{log}");
            }
            std::thread::sleep(Duration::from_millis(20));
            // The last of a killed server's processes may have held its data still.
            if ended.is_some() {
                self.spawn(arguments);
            }
        }
    }

    fn spawn(&self, arguments: &[&str]) {
        let mut command = match self.kind {
            Kind::Postgres => postgres::command(&self.data(), self.port),
            Kind::Mariadb => mariadb::command(&self.data(), self.port),
            Kind::Mysql => mysql::command(&self.data(), self.port),
        };
        command.args(&self.arguments).args(arguments);
        let log = File::options().create(true).append(true).open(self.log()).expect("a log can be written");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file has another handle")).stderr(log);
        *self.child() = Some(spawn_for_good(command).expect("the server's program runs"));
    }

    /// Ends it as an operator does.
    fn shut_down(&self) {
        if let Some(mut child) = self.child().take() {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }

    /// Ends it as a crash does.
    pub fn kill(&self) {
        if let Some(mut child) = self.child().take() {
            // Where a server is many processes, the first one's death leaves the others some moments.
            let pid = child.id();
            let others = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            let _ = child.kill();
            let _ = child.wait();
            let _ = Command::new("kill").arg("-9").args(others.split_whitespace()).stderr(Stdio::null()).status();
        }
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.administer(&match self.kind {
            Kind::Postgres => format!("CREATE DATABASE {name} OWNER {USER}"),
            Kind::Mariadb | Kind::Mysql => format!("CREATE DATABASE {name}; GRANT ALL ON {name}.* TO {USER}@'%'"),
        });
        self.url(USER, PASSWORD_IN_URL, &name)
    }

    /// The URL of a database for some user.
    pub fn url(&self, user: &str, password_in_url: &str, database: &str) -> String {
        let scheme = match self.kind {
            Kind::Postgres => "postgresql",
            Kind::Mariadb => "mariadb",
            Kind::Mysql => "mysql",
        };
        format!("{scheme}://{user}:{password_in_url}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements as the server's administrator.
    pub fn administer(&self, sql: &str) {
        self.try_administer(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs statements as the server's administrator in one of its databases; gives what they answer, a line a row.
    pub fn ask(&self, url: &str, sql: &str) -> String {
        let database = url.rsplit('/').next().unwrap_or_default();
        self.run(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn try_administer(&self, sql: &str) -> Result<String> {
        self.run("", sql)
    }

    fn run(&self, database: &str, sql: &str) -> Result<String> {
        let mut command = match self.kind {
            Kind::Postgres => postgres::client(self.port, database),
            Kind::Mariadb => mariadb::client(&self.data(), database),
            Kind::Mysql => mysql::client(&self.data(), database),
        };
        let output = command.arg(sql).stdin(Stdio::null()).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// Where its data lie.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A folder with data of a kind. None, and a word on stderr, where its programs are not installed.
fn new_folder(kind: Kind) -> Option<TempDir> {
    let missing = match kind {
        Kind::Postgres => postgres::missing(),
        Kind::Mariadb => mariadb::missing(),
        Kind::Mysql => mysql::missing(),
    };
    match missing {
        Some(program) => {
            skipped(&format!("{program} is not installed; the package {} has it", package(kind)));
            None
        }
        None => Some(data_folder(kind).expect("a data folder can be made")),
    }
}

fn package(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => "postgresql",
        Kind::Mariadb => "mariadb-server",
        Kind::Mysql => "mysql-server",
    }
}

/// Starts a program that dies with this process. The system kills it with the thread that started it: that one stays.
fn spawn_for_good(mut command: Command) -> Result<Child> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = send.send(command.spawn());
        loop {
            std::thread::park();
        }
    });
    receive.recv().map_err(Error::other)?
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("a listener has an address").port()
}

/// Deletes the data folders of processes that are gone: a server that serves a whole process outlives the last chance to
/// do so.
fn remove_left_over() -> Result<()> {
    for entry in std::fs::read_dir(std::env::temp_dir())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(FOLDER_PREFIX).and_then(|rest| rest.split_once('-')).map(|(owner, _)| owner);
        let is_number = |owner: &&str| owner.bytes().all(|byte| byte.is_ascii_digit());
        if owner.filter(is_number).is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = Command::new("umount").arg("-l").arg(entry.path().join("data")).stderr(Stdio::null()).status();
            // Whoever else starts a server may be at it too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// A copy of the kind's first data folder, which is made where there is none. It does not lie in the target folder: a
/// server that runs as another user could not get there.
fn data_folder(kind: Kind) -> Result<TempDir> {
    let folder = own_folder()?;
    let name = if kind == Kind::Mysql { mysql::version() } else { format!("{kind:?}") };
    let template = templates()?.join(name);
    let lock = File::create(template.with_extension("lock"))?;
    lock.lock()?;
    remove_left_over()?;
    let data = folder.path().join("data");
    if !template.exists() {
        match kind {
            Kind::Postgres => postgres::initialize(&data)?,
            Kind::Mariadb => mariadb::initialize(&data)?,
            Kind::Mysql => mysql::initialize(&data)?,
        }
        let unfinished = template.with_extension("unfinished");
        let _ = std::fs::remove_dir_all(&unfinished);
        run(Command::new("cp").arg("-a").arg(&data).arg(&unfinished))?;
        std::fs::rename(&unfinished, &template)?;
    } else {
        run(Command::new("cp").arg("-a").arg(&template).arg(&data))?;
    }
    Ok(folder)
}

/// Moves the data of a new server to a disk of its own.
fn onto_a_disk(kind: Kind, folder: &Path) -> Result<Option<SmallDisk>> {
    let (data, elsewhere) = (folder.join("data"), folder.join("elsewhere"));
    std::fs::rename(&data, &elsewhere)?;
    let Some(disk) = SmallDisk::mount(&data, 1 << 30) else { return Ok(None) };
    run(Command::new("cp").arg("-a").arg(elsewhere.join(".")).arg(&data))?;
    if kind == Kind::Postgres {
        postgres::keep_log_elsewhere(&data, &elsewhere)?;
    }
    Ok(Some(disk))
}

/// What a folder's files take.
fn bytes_in(folder: &Path) -> Result<u64> {
    let told = Command::new("du").args(["-s", "-B1"]).arg(folder).output()?;
    let told = String::from_utf8_lossy(&told.stdout);
    told.split_whitespace().next().and_then(|bytes| bytes.parse().ok()).ok_or_else(|| Error::other(told.clone()))
}

/// A folder that vanishes, and that other users can look into.
fn own_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(&format!("{FOLDER_PREFIX}{}-", std::process::id())).tempdir()?;
    run(Command::new("chmod").arg("755").arg(folder.path()))?;
    Ok(folder)
}

/// Beside the folder of compiled programs, of which this is one: `target/release/deps/NAME`.
fn templates() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).unwrap_or(Path::new("/tmp"));
    let folder = target.join("test-servers");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

/// The program in the first folder that has it.
fn find(program: &str, folders: &[&str]) -> Option<PathBuf> {
    folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}
