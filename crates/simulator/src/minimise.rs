//! Reduces a failing history to the steps that it needs.

use crate::action::{Action, HistoryStep};
use crate::references::ReferenceChange;
use crate::run::run_history;
use crate::setting::Setting;

/// The most shorter histories that are tried.
const ATTEMPTS_MAX: usize = 2_000;

/// Removes steps, faults and rows that are not needed for the same failure, until there are none or until `is_over`.
/// Returns the rest, and its failure.
pub fn minimised(
    setting: Setting,
    steps: Vec<HistoryStep>,
    message: String,
    is_over: impl Fn() -> bool,
) -> (Vec<HistoryStep>, String) {
    let (mut steps, mut message, mut attempts) = (steps, message, 0);
    let wanted = kind_of(&message);
    let mut try_one = |candidate: Vec<HistoryStep>, steps: &mut Vec<HistoryStep>, message: &mut String| -> bool {
        attempts += 1;
        if attempts > ATTEMPTS_MAX || is_over() {
            return false;
        }
        match run_history(setting, &candidate) {
            Err(other) if kind_of(&other) == wanted => {
                (*steps, *message) = (candidate, other);
                true
            }
            _ => false,
        }
    };
    loop {
        let before = steps.clone();
        let mut length = steps.len().max(1);
        while length > 0 {
            let mut at = 0;
            while at < steps.len() {
                let mut candidate = steps.clone();
                candidate.drain(at..(at + length).min(steps.len()));
                if !try_one(candidate, &mut steps, &mut message) {
                    at += length;
                }
            }
            length /= 2;
        }
        for at in 0..steps.len() {
            for candidate in simpler(&steps[at]) {
                let mut changed = steps.clone();
                changed[at] = candidate;
                if try_one(changed, &mut steps, &mut message) {
                    break;
                }
            }
        }
        if steps == before {
            return (steps, message);
        }
    }
}

/// The identity of a failure: the words before the details.
fn kind_of(message: &str) -> String {
    let words = message.split_once(": ").map_or(message, |(_, rest)| rest);
    let words: Vec<&str> = words.split_whitespace().take(8).collect();
    words.join(" ").chars().filter(|character| !character.is_ascii_digit()).collect()
}

/// Returns simpler forms of a step.
fn simpler(step: &HistoryStep) -> Vec<HistoryStep> {
    let mut simpler = Vec::new();
    if step.fault.is_some() {
        simpler.push(HistoryStep { fault: None, ..step.clone() });
    }
    if let Action::Append { rows, .. } | Action::Push { rows, .. } = &step.action {
        for at in 0..rows.len() {
            let mut step = step.clone();
            if let Action::Append { rows, .. } | Action::Push { rows, .. } = &mut step.action
                && rows.len() > 1
            {
                rows.remove(at);
                simpler.push(step);
            }
        }
    }
    if let Action::Refer { change: ReferenceChange::AddChildren { rows, .. }, .. } = &step.action {
        for at in (0..rows.len()).filter(|_| rows.len() > 1) {
            let mut step = step.clone();
            if let Action::Refer { change: ReferenceChange::AddChildren { rows, .. }, .. } = &mut step.action {
                rows.remove(at);
                simpler.push(step);
            }
        }
    }
    simpler
}
