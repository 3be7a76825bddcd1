//! The loop: input after input, until one panics or the limit is reached.

use crate::mutate::mutated;
use crate::target::Target;
use atsdb_testkit::clock;
use atsdb_testkit::sample::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The limit after which a run stops.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After this many inputs.
    Count(u64),
    /// After this time.
    Time(Duration),
}

/// An input that caused a panic.
#[derive(Debug)]
pub struct Failure {
    /// The target.
    pub target: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the input in the run.
    pub number: u64,
    /// The file to which the input was saved.
    pub path: PathBuf,
    /// The message of the panic.
    pub message: String,
}

/// Runs a target: first the unmodified corpus, then mutations of it. Returns the number of inputs. The first failing
/// input is saved in `folder`.
///
/// # Errors
///
/// The failure.
pub fn fuzz(target: &Target, seed: u64, limit: Limit, folder: &Path) -> Result<u64, Box<Failure>> {
    let corpus = (target.corpus)();
    let begun = clock::now();
    let is_over = |number: u64| match limit {
        Limit::Count(count) => number >= count,
        Limit::Time(time) => begun.elapsed() >= time,
    };
    for (number, input) in corpus.iter().enumerate() {
        read(target, seed, number as u64, input, folder)?;
    }
    let mut number = 0;
    while !is_over(number) {
        // Each input depends on its number alone, so it can be repeated without the earlier ones.
        let mut random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(number));
        let mut input = mutated(&corpus, &mut random);
        if random.below(4) > 0 {
            (target.reseal)(&mut input);
        }
        read(target, seed, number, &input, folder)?;
        number += 1;
    }
    Ok(number + corpus.len() as u64)
}

fn read(target: &Target, seed: u64, number: u64, input: &[u8], folder: &Path) -> Result<(), Box<Failure>> {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| (target.read)(input))) else { return Ok(()) };
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned();
    let path = folder.join(format!("{}-{seed}-{number}", target.name));
    let saved = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input));
    let message = match saved {
        Ok(()) => message,
        Err(error) => format!("{message} (the input is not saved: {error})"),
    };
    Err(Box::new(Failure { target: target.name, seed, number, path, message }))
}
