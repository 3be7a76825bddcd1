//! Charts as SVG and as a self-contained HTML page.

use super::colours::colour;
use super::destination::Destination;
use super::plot::{Plot, PlotSeries, XKind, scale_text};
use super::ticks;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::{Error, Result};
use atsdb_export::ResultWriter;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// The base of the first line of the legend, and the distance of its lines.
const LEGEND_TOP: f64 = 22.0;
const LEGEND_LINE: f64 = 18.0;

/// The most parts of the vertical and of the horizontal scale.
const Y_PARTS: usize = 6;
const X_PARTS: usize = 6;

/// The width of a letter of a label.
const LETTER: f64 = 6.6;

/// The maximum number of letters of a series' name in the legend.
const NAME_LETTERS: usize = 60;

/// The maximum number of series that the title of a page names.
const TITLE_NAMES: usize = 6;

/// The maximum number of rows of a picture of bars. More bars are narrower than what a screen shows.
const BAR_ROWS_MAX: usize = 2_000;

/// The width of the columns in which a line has at most four points.
const COLUMN: f64 = 0.5;

pub(super) struct SvgWriter<'a> {
    out: &'a mut Destination,
    plot: Plot,
    is_page: bool,
}

impl<'a> SvgWriter<'a> {
    pub(super) fn new(schema: &SchemaRef, is_page: bool, out: &'a mut Destination) -> Result<Self> {
        Ok(Self { out, plot: Plot::new(schema)?, is_page })
    }
}

impl ResultWriter for SvgWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.plot.add(batch)?;
        if self.plot.x_kind == XKind::Name && self.plot.x.len() > BAR_ROWS_MAX {
            let x_name = &self.plot.x_name;
            let message =
                format!("the first column, {x_name}, is text, and a picture of bars has at most {BAR_ROWS_MAX} rows");
            return Err(Error::usage(message).with_hint(
                "put a column of times or numbers first: SELECT time, temp FROM weather; or group the rows",
            ));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let svg = svg(&self.plot);
        let text = if self.is_page { page(&self.plot, &svg) } else { svg };
        self.out.put(text.as_bytes())
    }
}

fn page(plot: &Plot, svg: &str) -> String {
    let mut names: Vec<&str> = plot.series.iter().take(TITLE_NAMES).map(|series| series.name.as_str()).collect();
    let more = match plot.series.len() - names.len() {
        0 => String::new(),
        more => format!("{more} more"),
    };
    names.extend(Some(more.as_str()).filter(|more| !more.is_empty()));
    let title = escaped(&format!("{} by {}", names.join(", "), plot.x_name));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font-family:sans-serif;margin:2em;max-width:72em}}svg{{width:100%;height:auto}}</style></head>\n\
         <body><h1>{title}</h1>\n{svg}</body></html>\n"
    )
}

/// The frame of the diagram: the ranges of values, and their positions in the picture.
struct Frame {
    x_range: (f64, f64),
    y_range: (f64, f64),
    top: f64,
    height: f64,
}

impl Frame {
    fn new(plot: &Plot, legend_height: f64) -> Self {
        let is_bars = plot.x_kind == XKind::Name;
        let (low, high) = plot.y_range();
        let y_range = if is_bars { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        let x_range = if is_bars { (-0.5, (plot.x.len() as f64 - 0.5).max(0.5)) } else { plot.x_range() };
        let y_range = ticks::rounded(y_range, Y_PARTS);
        Self { x_range, y_range, top: TOP + legend_height, height: HEIGHT + legend_height }
    }

    fn x(&self, value: f64) -> f64 {
        let (low, high) = self.x_range;
        LEFT + (value - low) / (high - low) * (WIDTH - RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.y_range;
        let bottom = self.height - BOTTOM;
        bottom + (value - low) / (high - low) * (self.top - bottom)
    }
}

// Writing to a string does not fail.
fn svg(plot: &Plot) -> String {
    let (legend, legend_height) = legend(plot);
    let frame = Frame::new(plot, legend_height);
    let height = frame.height;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    scales(plot, &frame, &mut out);
    if plot.x.is_empty() {
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">no rows</text>",
            WIDTH / 2.0,
            height / 2.0
        );
    }
    for ((number, series), (name_x, name_y)) in plot.series.iter().enumerate().zip(legend) {
        let colour = colour(number);
        let name = labelled(&series.name, NAME_LETTERS);
        let _ = writeln!(out, "<text x=\"{name_x:.0}\" y=\"{name_y:.0}\" fill=\"{colour}\">{name}</text>");
        if plot.x_kind == XKind::Name {
            bars(plot, number, &frame, &mut out);
        } else {
            lines(plot, number, &frame, &mut out);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The lines and texts of the vertical scale, and the texts of the horizontal one.
fn scales(plot: &Plot, frame: &Frame, out: &mut String) {
    let values = ticks::numbers(frame.y_range, Y_PARTS);
    for value in &values {
        let y = frame.y(*value);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            if value.abs() < f64::MIN_POSITIVE { "#888" } else { "#ddd" },
            LEFT - 8.0,
            y + 4.0,
            scale_text(*value, step_of(values.iter().copied(), frame.y_range))
        );
    }
    let labels = labels(plot, frame.x_range);
    let letters_max = ((WIDTH - LEFT - RIGHT) / labels.len().max(1) as f64 / LETTER) as usize;
    for (x, label) in labels {
        let half = label.width().min(letters_max) as f64 * LETTER / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            frame.x(x).min(WIDTH - half),
            frame.height - BOTTOM + 20.0,
            labelled(&label, letters_max)
        );
    }
}

fn bars(plot: &Plot, number: usize, frame: &Frame, out: &mut String) {
    let (series, colour) = (&plot.series[number], colour(number));
    let width = (WIDTH - LEFT - RIGHT) / plot.x.len().max(1) as f64 * 0.8 / plot.series.len() as f64;
    let zero = frame.y(0.0);
    for ((x, value), label) in plot.x.iter().zip(&series.values).zip(&plot.labels) {
        if !value.is_finite() {
            continue;
        }
        let left = frame.x(*x) + (number as f64 - plot.series.len() as f64 / 2.0) * width;
        let y = frame.y(*value);
        let _ = writeln!(
            out,
            "<rect x=\"{left:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{colour}\">\
             <title>{}, {}: {value}</title></rect>",
            zero.min(y),
            (zero - y).abs(),
            escaped(label),
            escaped(&series.name)
        );
    }
}

fn lines(plot: &Plot, number: usize, frame: &Frame, out: &mut String) {
    let (series, colour) = (&plot.series[number], colour(number));
    let title = format!("<title>{}</title>", escaped(&series.name));
    for run in plot.x.iter().zip(&series.values).collect::<Vec<_>>().split(|(_, value)| !value.is_finite()) {
        let points: Vec<(f64, f64)> = run.iter().map(|(x, y)| (frame.x(**x), frame.y(**y))).collect();
        let points: Vec<String> = visible(&points).iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        // A line of one point is not visible.
        if let [(x, y)] = run {
            let (x, y) = (frame.x(**x), frame.y(**y));
            let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"{colour}\">{title}</circle>");
        } else if !points.is_empty() {
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\">{title}</polyline>",
                points.join(" ")
            );
        }
    }
}

/// The points of a line without those that look the same: of successive points in one column of the picture, the first,
/// the lowest, the highest and the last.
fn visible(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let column = |point: &(f64, f64)| (point.0 / COLUMN).floor();
    let mut kept = Vec::new();
    for group in points.chunk_by(|one, next| column(one).total_cmp(&column(next)).is_eq()) {
        let by_height = |one: &usize, other: &usize| group[*one].1.total_cmp(&group[*other].1);
        let rows = 0..group.len();
        let (lowest, highest) = (rows.clone().min_by(by_height), rows.clone().max_by(by_height));
        let mut shown: Vec<usize> = [rows.clone().next(), lowest, highest, rows.last()].into_iter().flatten().collect();
        shown.sort_unstable();
        shown.dedup();
        kept.extend(shown.into_iter().map(|row| group[row]));
    }
    kept
}

/// The distance of positions on a scale; of a part of its range if there is only one.
fn step_of(mut places: impl Iterator<Item = f64>, (low, high): (f64, f64)) -> f64 {
    match (places.next(), places.next()) {
        (Some(first), Some(second)) => second - first,
        _ => (high - low) / Y_PARTS as f64,
    }
}

/// A text of at most so many letters; a longer one is cut, and shown whole under the mouse.
fn labelled(text: &str, letters_max: usize) -> String {
    if text.width() <= letters_max {
        return escaped(text);
    }
    let mut width = 0;
    let is_within = |letter: &char| {
        width += letter.width().unwrap_or(0);
        width < letters_max
    };
    let beginning: String = text.chars().take_while(is_within).collect();
    format!("<title>{}</title>{}…", escaped(text), escaped(&beginning))
}

/// The positions of the series' names, in as many lines as they need, and the height of the lines below the first.
fn legend(plot: &Plot) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut y) = (LEFT, LEGEND_TOP);
    let place = |series: &PlotSeries| {
        let width = series.name.width().min(NAME_LETTERS) as f64 * 7.0 + 24.0;
        if x > LEFT && x + width > WIDTH {
            (x, y) = (LEFT, y + LEGEND_LINE);
        }
        let place = (x, y);
        x += width;
        place
    };
    let places = plot.series.iter().map(place).collect();
    (places, y - LEGEND_TOP)
}

/// The positions on the horizontal scale, and their texts.
fn labels(plot: &Plot, range: (f64, f64)) -> Vec<(f64, String)> {
    if plot.x_kind == XKind::Name {
        let step = plot.x.len().div_ceil(12).max(1);
        return plot.x.iter().copied().zip(plot.labels.iter().cloned()).step_by(step).collect();
    }
    let is_time = plot.x_kind == XKind::Time;
    let places = if is_time { ticks::times(range, X_PARTS) } else { ticks::numbers(range, X_PARTS) };
    let step = step_of(places.iter().copied(), range);
    places.into_iter().map(|place| (place, plot.x_text(place, step))).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_many_series_are_inside_the_picture() {
        let series = |number: usize| PlotSeries { name: format!("series {number}"), values: vec![1.0, 2.0] };
        let plot = |count: usize| Plot {
            x_name: "x".to_owned(),
            x_kind: XKind::Number,
            x: vec![0.0, 1.0],
            labels: vec!["0".to_owned(), "1".to_owned()],
            series: (0..count).map(series).collect(),
        };
        let (places, height) = legend(&plot(40));
        assert!(height > 0.0 && places.iter().all(|(x, _)| (LEFT..WIDTH).contains(x)), "{places:?}");
        assert!(places.windows(2).all(|pair| pair[0] != pair[1]), "{places:?}");
        assert!(svg(&plot(40)).contains(&format!("viewBox=\"0 0 960 {}\"", 480.0 + height)));
        assert_eq!(legend(&plot(2)), (vec![(80.0, 22.0), (80.0 + 8.0 * 7.0 + 24.0, 22.0)], 0.0));
    }

    fn drawn(x_kind: XKind, labels: &[&str], values: &[f64]) -> String {
        svg(&Plot {
            x_name: "x".to_owned(),
            x_kind,
            x: (0..values.len()).map(|row| row as f64).collect(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            series: vec![PlotSeries { name: "a long name ".repeat(9), values: values.to_vec() }],
        })
    }

    #[test]
    fn a_line_of_many_points_keeps_its_ends_and_peaks() {
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|row| (f64::from(row) / 100.0, f64::from(row % 7))).collect();
        points[77_777].1 = 1_000.0;
        let kept = visible(&points);
        assert!(kept.len() <= 4 * 2_000, "{}", kept.len());
        assert!(kept.contains(&points[0]) && kept.contains(&points[77_777]) && kept.contains(&points[99_999]));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0), "the points are in their order");
        let apart = [(0.0, 1.0), (1.0, 2.0), (2.0, 1.0), (0.0, 1.0)];
        assert_eq!(visible(&apart), apart);
    }

    #[test]
    fn a_value_between_gaps_is_a_point() {
        let picture = drawn(XKind::Number, &["0", "1", "2"], &[f64::NAN, 1.0, f64::NAN]);
        assert!(picture.contains("<circle") && !picture.contains("<polyline"), "{picture}");
        assert!(drawn(XKind::Name, &[], &[]).contains(">no rows</text>"));
    }

    #[test]
    fn long_names_are_cut_and_shown_whole_under_the_mouse() {
        let name = "x&".repeat(200);
        let picture = drawn(XKind::Name, &[&name, "b"], &[-1.0, 2.0]);
        let whole = name.replace('&', "&amp;");
        assert!(picture.contains(&format!("<title>{whole}</title>x&amp;x")), "{picture}");
        assert!(picture.contains(&format!("<title>{whole}, a long")) && !picture.contains(&format!(">{whole}</text>")));
    }

    #[test]
    fn bars_of_negative_values_hang_below_zero() {
        let picture = drawn(XKind::Name, &["low", "high"], &[-10.0, 20.0]);
        let bars: Vec<(f64, f64)> = picture
            .lines()
            .filter(|line| line.starts_with("<rect x="))
            .map(|line| {
                let number = |name: &str| line.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0;
                let (top, height): (f64, f64) = (number("y").parse().unwrap(), number("height").parse().unwrap());
                (top, top + height)
            })
            .collect();
        let [(low_top, low_end), (high_top, high_end)] = bars[..] else { panic!("{picture}") };
        assert!((low_top - high_end).abs() < 0.2 && high_top < high_end && low_top < low_end, "{bars:?}");
        assert!((high_end - high_top - 2.0 * (low_end - low_top)).abs() < 0.4, "{bars:?}");
    }

    #[test]
    fn a_narrow_range_far_from_zero_has_different_labels() {
        let picture = drawn(XKind::Number, &["0", "1"], &[1013.2, 1013.9]);
        for label in [">1013.2<", ">1013.4<", ">1013.6<", ">1013.8<"] {
            assert!(picture.contains(label), "{label} in {picture}");
        }
    }
}
