//! The plot: panels below each other, each with its own scale, as SVG.

use crate::sample::Sample;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 170.0;
const HEIGHT: f64 = 110.0;
const GAP: f64 = 38.0;
const COLOURS: [&str; 8] = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"];

/// The panels, each with its title and the prefix of its figures' names.
const PANELS: [(&str, &str); 7] = [
    ("memory of the workers, MiB", "memory "),
    ("open files of the workers", "files "),
    ("bytes on the disk, MiB", "disk "),
    ("rows of readings", "rows"),
    ("median latency, ms", "p50 "),
    ("99th percentile, ms", "p99 "),
    ("load of the machine", "load"),
];

/// The maximum number of points of a line.
const POINTS_MAX: usize = 240;

/// Draws samples. `seconds` is the time between two of them. If there are more samples than points in a line, the
/// highest ones are drawn.
pub(crate) fn svg(samples: &[Sample], seconds: f64, title: &str) -> String {
    let together = samples.len().div_ceil(POINTS_MAX).max(1);
    let samples: Vec<Sample> = samples.chunks(together).map(highest).collect();
    let seconds = seconds * together as f64;
    let samples = samples.as_slice();
    let title = format!("{title}; each point is the highest of {seconds:.0} seconds");
    let height = 40.0 + PANELS.len() as f64 * (HEIGHT + GAP);
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    for (number, (title, prefix)) in PANELS.iter().enumerate() {
        panel(&mut page, samples, seconds, 50.0 + number as f64 * (HEIGHT + GAP), title, prefix);
    }
    page + "</svg>\n"
}

/// Returns the highest value of each figure.
fn highest(samples: &[Sample]) -> Sample {
    let mut highest = Sample::default();
    for (name, value) in samples.iter().flat_map(|sample| &sample.0) {
        let known = highest.0.entry(name.clone()).or_insert(*value);
        *known = known.max(*value);
    }
    highest
}

fn panel(page: &mut String, samples: &[Sample], seconds: f64, top: f64, title: &str, prefix: &str) {
    let Some(first) = samples.first() else { return };
    let names: Vec<&String> = first.0.keys().filter(|name| name.starts_with(prefix)).collect();
    let value = |sample: &Sample, name: &String| sample.0.get(name).copied().unwrap_or(f64::NAN);
    let all = samples.iter().flat_map(|sample| names.iter().map(move |name| value(sample, name)));
    let most = all.filter(|value| !value.is_nan()).fold(0.0, f64::max).max(1e-9);
    let (right, bottom) = (WIDTH - RIGHT, top + HEIGHT);
    let x = |position: usize| LEFT + position as f64 / samples.len().max(2) as f64 * (right - LEFT);
    let y = |value: f64| bottom - value / most * HEIGHT;
    let put = |page: &mut String, text: std::fmt::Arguments<'_>| writeln!(page, "{text}").unwrap_or_default();
    put(page, format_args!("<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{title}</text>", top - 6.0));
    put(
        page,
        format_args!(
            "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#ccc\"/>",
            right - LEFT
        ),
    );
    for share in [0.0, 0.5, 1.0] {
        let (at, value) = (y(most * share) + 4.0, most * share);
        let digits = usize::from(most < 10.0);
        put(page, format_args!("<text x=\"{}\" y=\"{at:.0}\" text-anchor=\"end\">{value:.digits$}</text>", LEFT - 5.0));
    }
    for share in 0..=6 {
        let minutes = samples.len() as f64 * seconds / 60.0 * f64::from(share) / 6.0;
        let at = LEFT + f64::from(share) / 6.0 * (right - LEFT);
        put(
            page,
            format_args!(
                "<text x=\"{at:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{minutes:.0} min</text>",
                bottom + 13.0
            ),
        );
    }
    for (number, name) in names.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let dashes = if number >= COLOURS.len() { " stroke-dasharray=\"4 2\"" } else { "" };
        let points: Vec<String> = samples
            .iter()
            .enumerate()
            .filter(|(_, sample)| !value(sample, name).is_nan())
            .map(|(position, sample)| format!("{:.1},{:.1}", x(position), y(value(sample, name))))
            .collect();
        let line = format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"{dashes} points=\"{}\"/>",
            points.join(" ")
        );
        put(page, format_args!("{line}"));
        let text = name.strip_prefix(prefix).filter(|text| !text.is_empty()).unwrap_or(name);
        let at = top + 9.0 + number as f64 * 11.5;
        put(page, format_args!("<text x=\"{}\" y=\"{at:.0}\" fill=\"{colour}\">{text}</text>", right + 8.0));
    }
}
