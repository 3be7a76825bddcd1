//! The server's program, settings, and files in a workspace.

use crate::contestant::Workspace;
use crate::failure::Failure;
use crate::measure::Tuning;
use crate::process;
use crate::server::{Ports, WorkspaceProgram};
use atsdb::Durability;
use postgres::{Client, Config, NoTls};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that may name the jar.
const VARIABLE: &str = "ATSDB_LAB_QUESTDB";
/// The oldest Java that runs it.
const JAVA: u32 = 17;
/// The folder below the home folder in which Maven keeps the jars of all versions.
const MAVEN: &str = ".m2/repository/org/questdb/questdb";
/// The folder of tables in a workspace, and that of files to load.
const TABLES: &str = "root/db";
const IMPORT: &str = "import";
/// A file that the folder of each table has.
const META: &str = "_meta";
/// The prefixes of the names of the system's own tables.
const SYSTEM: [&str; 3] = ["sys.", "telemetry", "_"];

fn missing() -> Failure {
    Failure::cannot(format!(
        "mvn dependency:get -Dartifact=org.questdb:questdb:9.2.0, or set {VARIABLE} to its jar; \
         it needs Java {JAVA} or later: apt-get install openjdk-17-jre-headless"
    ))
}

/// The jar that the variable names, or else the newest one of Maven's.
fn jar() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| path.is_file());
    let versions = || {
        let folder = PathBuf::from(std::env::var_os("HOME")?).join(MAVEN);
        let mut versions: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().into_string().ok()?;
                let jar = entry.path().join(format!("questdb-{version}.jar"));
                jar.is_file().then(|| (version.split('.').map_while(|part| part.parse().ok()).collect(), jar))
            })
            .collect();
        versions.sort();
        versions.pop().map(|(_, jar)| jar)
    };
    named.or_else(versions).ok_or_else(missing)
}

/// Returns the version in the jar's name. Checks that there is a Java that runs it.
pub(super) fn version() -> Result<String, Failure> {
    let jar = jar()?;
    let java = process::on_path("java").ok_or_else(missing)?;
    let output = Command::new(java).arg("-version").output().map_err(Failure::broken)?;
    // `openjdk version "17.0.15" 2025-04-15`
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let number = said.split('"').nth(1).and_then(|version| version.split(['.', '-']).next()?.parse::<u32>().ok());
    if number.is_none_or(|number| number < JAVA) {
        return Err(missing());
    }
    let name = jar.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(format!("QuestDB {}", name.strip_prefix("questdb-").unwrap_or("unknown")))
}

/// The server of a workspace.
pub(super) struct QuestdbProgram {
    jar: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) durability: Durability,
    /// The settings in the server's file.
    settings: Vec<(&'static str, String)>,
    /// The options of the Java virtual machine.
    options: Vec<&'static str>,
}

impl QuestdbProgram {
    /// The server of a workspace.
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Failure> {
        let sync = if workspace.durability == Durability::Full { "sync" } else { "nosync" };
        let settings = vec![("cairo.commit.mode", sync.to_owned())];
        // The server's own script starts it with this collector. Rows are not on the heap.
        let options = match workspace.tuning {
            Tuning::Tuned => vec!["-XX:+UseParallelGC", "-Xmx1g"],
            Tuning::Defaults => Vec::new(),
        };
        let folder = workspace.directory.clone();
        Ok(Self { jar: jar()?, folder, durability: workspace.durability, settings, options })
    }

    /// Every setting that affects speed or safety.
    pub(super) fn shown(&self) -> Vec<String> {
        let own = self.settings.iter().map(|(name, value)| format!("{name} = {value}"));
        own.chain(self.options.iter().map(|option| (*option).to_owned())).collect()
    }

    /// The folder of files to load.
    pub(super) fn import(&self) -> PathBuf {
        self.folder.join(IMPORT)
    }

    /// A connection.
    pub(super) fn connect(ports: Ports) -> Result<Client, postgres::Error> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(ports.other).user("admin").password("quest").dbname("qdb");
        config.connect(NoTls)
    }
}

impl WorkspaceProgram for QuestdbProgram {
    const NAME: &'static str = "questdb";

    fn command(&self, ports: Ports) -> Result<Vec<String>, Failure> {
        let (root, import) = (self.folder.join("root"), self.import());
        for folder in [&root.join("conf"), &import] {
            std::fs::create_dir_all(folder).map_err(Failure::broken)?;
        }
        let always = [
            ("http.bind.to", format!("127.0.0.1:{}", ports.http)),
            ("pg.net.bind.to", format!("127.0.0.1:{}", ports.other)),
            ("line.tcp.enabled", "false".to_owned()),
            ("http.min.enabled", "false".to_owned()),
            ("telemetry.enabled", "false".to_owned()),
            // Otherwise its own tables, of which there is one set for each workspace, reserve 200 MB.
            ("cairo.system.writer.data.append.page.size", "64k".to_owned()),
            ("cairo.sql.copy.root", import.display().to_string()),
        ];
        let line = |(name, value): &(&str, String)| format!("{name}={value}\n");
        let settings: String = always.iter().chain(&self.settings).map(line).collect();
        std::fs::write(root.join("conf/server.conf"), settings).map_err(Failure::broken)?;
        let log = "writers=stdout\nw.stdout.class=io.questdb.log.LogConsoleWriter\nw.stdout.level=CRITICAL,ERROR\n";
        std::fs::write(root.join("conf/log.conf"), log).map_err(Failure::broken)?;
        let java = process::on_path("java").ok_or_else(missing)?;
        let mut command = vec![java.display().to_string()];
        command.extend(self.options.iter().map(|option| (*option).to_owned()));
        let (jar, root) = (self.jar.display().to_string(), root.display().to_string());
        let rest = ["-p", &jar, "-m", "io.questdb/io.questdb.ServerMain", "-d", &root, "-n"];
        command.extend(rest.map(str::to_owned));
        Ok(command)
    }

    fn answers(&self, ports: Ports) -> Result<(), Failure> {
        Self::connect(ports).map(drop).map_err(Failure::broken)
    }
}

/// The folders of a workspace's tables, without those of the system.
pub(super) fn table_folders(workspace: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folders = std::fs::read_dir(workspace.join(TABLES)).map_err(Failure::broken)?;
    let folders = folders.collect::<Result<Vec<_>, _>>().map_err(Failure::broken)?;
    let paths = folders.into_iter().map(|folder| folder.path());
    // A table without a write-ahead log has no number in the name of its folder.
    let is_table = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.join(META).is_file() && !SYSTEM.iter().any(|prefix| name.starts_with(prefix))
    };
    Ok(paths.filter(is_table).collect())
}
