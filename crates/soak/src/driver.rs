//! The driver: starts the workers, kills some of them, measures, and checks the results.

use crate::sample::{self, Sample};
use crate::store::{self, Clock};
use crate::workers::{NAMES, is_killed};
use crate::{check, plot, trend};
use atsdb_engine::{Environment, SystemEnvironment};
use atsdb_testkit::clock;
use atsdb_testkit::sample::Random;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The time between two samples, in seconds.
const SAMPLE_SECONDS: u64 = 5;
/// The maximum number of seconds between two kills.
const KILL_SECONDS_MAX: u64 = 12;
/// The longest time that workers may take to end.
const END: Duration = Duration::from_secs(120);
/// The operations whose durations are shown.
const TIMED: [&str; 9] = ["append", "change", "transfer", "query", "check", "keep", "backup", "copy", "import"];

/// The reports of the workers since the last sample, by the first word of their lines.
type Reports = Arc<Mutex<BTreeMap<String, Vec<u64>>>>;

struct RunningWorker {
    name: &'static str,
    child: Child,
}

struct Driver {
    folder: PathBuf,
    begun_ms: i64,
    random: Random,
    reports: Reports,
    workers: Vec<RunningWorker>,
    kills: u64,
    wrong: Vec<String>,
}

pub(crate) fn run(folder: &Path, seconds: u64, seed: u64) -> ExitCode {
    println!("soak: {seconds} seconds, seed {seed}, in {}", folder.display());
    match soak(folder, seconds, seed) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

fn soak(folder: &Path, seconds: u64, seed: u64) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    if folder.join("soak.db").exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let begun_ms = SystemEnvironment.now_ms();
    let clock = Clock::new(begun_ms);
    store::create_tables(&store::session(&store::open(&store::path(folder), clock, false)?)?)?;
    let (folder, random) = (fs::canonicalize(folder)?, Random::new(seed));
    let (reports, workers) = (Reports::default(), Vec::new());
    let mut driver = Driver { folder, begun_ms, random, reports, workers, kills: 0, wrong: Vec::new() };
    let samples = driver.drive(Duration::from_secs(seconds))?;
    driver.end()?;
    let Driver { folder, mut wrong, kills, .. } = driver;
    println!("{kills} kills; checking what is there");
    wrong.extend(check::check(&folder, clock)?);
    wrong.extend(report(&folder, &samples)?);
    for wrong in &wrong {
        println!("WRONG: {wrong}");
    }
    println!(
        "{} of the run: {}",
        if wrong.is_empty() { "all is well: the figures" } else { "the figures" },
        folder.display()
    );
    Ok(wrong)
}

/// Compares and draws the samples of an earlier run again.
pub(crate) fn compare(folder: &Path) -> ExitCode {
    let samples = fs::read_to_string(folder.join("soak.csv")).map(|text| sample::from_csv(&text));
    match samples.and_then(|samples| report(folder, &samples)) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => {
            println!("{}", wrong.join("\n"));
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Writes the figures and the plot, and reports figures that are not flat.
fn report(folder: &Path, samples: &[Sample]) -> std::io::Result<Vec<String>> {
    let seconds = SAMPLE_SECONDS as f64;
    let title = format!("soak: {} workers, {:.0} minutes", NAMES.len(), samples.len() as f64 * seconds / 60.0);
    fs::write(folder.join("soak.csv"), sample::to_csv(samples))?;
    fs::write(folder.join("soak.svg"), plot::svg(samples, seconds, &title))?;
    let mut wrong = Vec::new();
    println!("{:<24} {:>12} {:>12}  (medians of the second and the last third)", "figure", "before", "after");
    for trend in trend::trends(samples) {
        let verdict = if trend.is_flat { "" } else { "  grows" };
        println!("{:<24} {:>12.2} {:>12.2}{verdict}", trend.name, trend.before, trend.after);
        if !trend.is_flat {
            wrong.push(format!("{} is not flat: {:.2}, then {:.2}", trend.name, trend.before, trend.after));
        }
    }
    Ok(wrong)
}

impl Driver {
    /// Runs the workers for this time, and returns the samples.
    fn drive(&mut self, time: Duration) -> Result<Vec<Sample>, Box<dyn std::error::Error>> {
        for name in NAMES {
            self.start(name)?;
        }
        let begun = clock::now();
        let (mut samples, mut next_kill) = (Vec::new(), begun + Duration::from_secs(KILL_SECONDS_MAX));
        let mut next_sample = begun;
        while begun.elapsed() < time {
            clock::sleep(Duration::from_millis(100));
            self.start_ended_again()?;
            if self.take("kill").is_some() {
                self.kill("importer-0");
            }
            if clock::now() >= next_kill {
                let victims: Vec<&str> = NAMES.into_iter().filter(|name| is_killed(name)).collect();
                let victim = victims[self.random.below(victims.len() as u64) as usize];
                self.kill(victim);
                next_kill = clock::now() + Duration::from_millis(self.random.below(KILL_SECONDS_MAX * 1_000));
            }
            if clock::now() >= next_sample {
                next_sample += Duration::from_secs(SAMPLE_SECONDS);
                samples.push(self.sample(begun.elapsed().as_secs_f64(), samples.last()));
                if samples.len() % 24 == 0 {
                    // Written continuously, in case the run is stopped.
                    fs::write(self.folder.join("soak.csv"), sample::to_csv(&samples))?;
                }
            }
        }
        Ok(samples)
    }

    fn start(&mut self, name: &'static str) -> std::io::Result<()> {
        let seed = self.random.bits();
        let complaints = File::options().create(true).append(true).open(self.folder.join("complaints"))?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--worker", name])
            .arg(&self.folder)
            .args([self.begun_ms.to_string(), seed.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()?;
        let reports = Arc::clone(&self.reports);
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(std::io::Result::ok) {
                    let Some((what, number)) = line.split_once(' ') else { continue };
                    let mut reports = reports.lock();
                    reports.entry(what.to_owned()).or_default().push(number.parse().unwrap_or(0));
                }
            });
        }
        self.workers.push(RunningWorker { name, child });
        Ok(())
    }

    /// Restarts workers that have ended, which they only do if something is wrong.
    fn start_ended_again(&mut self) -> std::io::Result<()> {
        for position in (0..self.workers.len()).rev() {
            if let Some(status) = self.workers[position].child.try_wait()? {
                let name = self.workers.swap_remove(position).name;
                let wrong = format!("{name} ended by itself, {status}");
                eprintln!("{wrong}; see {}", self.folder.join("complaints").display());
                self.wrong.push(wrong);
                clock::sleep(Duration::from_secs(1));
                self.start(name)?;
            }
        }
        Ok(())
    }

    fn kill(&mut self, name: &str) {
        let Some(position) = self.workers.iter().position(|worker| worker.name == name) else { return };
        let mut worker = self.workers.swap_remove(position);
        let _ = worker.child.kill();
        let _ = worker.child.wait();
        self.kills += 1;
        if let Err(error) = self.start(worker.name) {
            self.wrong.push(format!("{name} cannot be started again: {error}"));
        }
    }

    fn take(&self, what: &str) -> Option<Vec<u64>> {
        self.reports.lock().remove(what)
    }

    fn sample(&self, seconds: f64, before: Option<&Sample>) -> Sample {
        let mut sample = Sample::default();
        sample.put("seconds", seconds);
        sample.put("kills", self.kills as f64);
        for worker in &self.workers {
            sample.put_process(worker.name, worker.child.id());
        }
        sample.put_folder(&self.folder);
        for what in TIMED {
            sample.put_times(what, self.take(what).unwrap_or_default());
        }
        sample.put("conflicts", self.take("conflict").unwrap_or_default().len() as f64);
        // Readers count rows only now and then.
        let known = before.and_then(|before| before.0.get("rows")).copied();
        let rows = self.take("rows").and_then(|rows| rows.last().map(|rows| *rows as f64));
        sample.put("rows", rows.or(known).unwrap_or(f64::NAN));
        sample.put_load();
        sample
    }

    /// Lets the workers finish what they are doing.
    fn end(&mut self) -> std::io::Result<()> {
        fs::write(self.folder.join("stop"), "")?;
        let until = clock::now() + END;
        for worker in &mut self.workers {
            loop {
                match worker.child.try_wait()? {
                    Some(status) if status.success() => break,
                    Some(status) => {
                        self.wrong.push(format!("{} ended with {status}", worker.name));
                        break;
                    }
                    None if clock::now() > until => {
                        let _ = worker.child.kill();
                        let _ = worker.child.wait();
                        self.wrong.push(format!("{} did not end within {} seconds", worker.name, END.as_secs()));
                        break;
                    }
                    None => clock::sleep(Duration::from_millis(50)),
                }
            }
        }
        Ok(())
    }
}
