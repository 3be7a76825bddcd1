//! Charts as SVG and as a self-contained HTML page.

use super::destination::Destination;
use super::plot::{Plot, PlotSeries, XKind, number_text};
use super::ticks;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::ResultWriter;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

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

/// Colours that people with any kind of colour vision can distinguish (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000"];

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
        self.plot.add(batch)
    }

    fn finish(&mut self) -> Result<()> {
        let svg = svg(&self.plot);
        let text = if self.is_page { page(&self.plot, &svg) } else { svg };
        self.out.put(text.as_bytes())
    }
}

fn page(plot: &Plot, svg: &str) -> String {
    let names: Vec<&str> = plot.series.iter().map(|series| series.name.as_str()).collect();
    let title = escaped(&format!("{} by {}", names.join(", "), plot.x_name));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font-family:sans-serif;margin:2em;max-width:72em}}svg{{width:100%;height:auto}}</style></head>\n\
         <body><h1>{title}</h1>\n{svg}</body></html>\n"
    )
}

fn svg(plot: &Plot) -> String {
    let (mut x_range, y_range) = (plot.x_range(), plot.y_range());
    let is_bars = plot.x_kind == XKind::Name;
    let y_range = if is_bars { (y_range.0.min(0.0), y_range.1.max(0.0)) } else { y_range };
    let y_range = ticks::rounded(y_range, Y_PARTS);
    if is_bars {
        x_range = (-0.5, plot.x.len() as f64 - 0.5);
    }
    let at =
        |value: f64, (low, high): (f64, f64), from: f64, to: f64| from + (value - low) / (high - low) * (to - from);
    let x_of = |x: f64| at(x, x_range, LEFT, WIDTH - RIGHT);
    let (legend, legend_height) = legend(plot);
    let height = HEIGHT + legend_height;
    let y_of = |y: f64| at(y, y_range, height - BOTTOM, TOP + legend_height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    // Writing to a string does not fail.
    for value in ticks::numbers(y_range, Y_PARTS) {
        let y = y_of(value);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0,
            number_text(value)
        );
    }
    for (x, label) in labels(plot, x_range) {
        let half = label.chars().count() as f64 * LETTER / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x_of(x).min(WIDTH - half),
            height - BOTTOM + 20.0,
            escaped(&label)
        );
    }
    for ((number, series), (name_x, name_y)) in plot.series.iter().enumerate().zip(legend) {
        let colour = COLOURS[number % COLOURS.len()];
        let name = escaped(&series.name);
        let _ = writeln!(out, "<text x=\"{name_x:.0}\" y=\"{name_y:.0}\" fill=\"{colour}\">{name}</text>");
        if is_bars {
            let width = (WIDTH - LEFT - RIGHT) / plot.x.len().max(1) as f64 * 0.8 / plot.series.len() as f64;
            for (x, value) in plot.x.iter().zip(&series.values).filter(|(_, value)| value.is_finite()) {
                let (left, zero, y) =
                    (x_of(*x) + (number as f64 - plot.series.len() as f64 / 2.0) * width, y_of(0.0), y_of(*value));
                let _ = writeln!(
                    out,
                    "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                    zero.min(y),
                    (zero - y).abs()
                );
            }
            continue;
        }
        for run in plot.x.iter().zip(&series.values).collect::<Vec<_>>().split(|(_, value)| !value.is_finite()) {
            let points: Vec<String> = run.iter().map(|(x, y)| format!("{:.1},{:.1}", x_of(**x), y_of(**y))).collect();
            if !points.is_empty() {
                let points = points.join(" ");
                let _ = writeln!(
                    out,
                    "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" \
                     stroke-linecap=\"round\"/>"
                );
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The positions of the series' names, in as many lines as they need, and the height of the lines below the first.
fn legend(plot: &Plot) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut y) = (LEFT, LEGEND_TOP);
    let place = |series: &PlotSeries| {
        let width = series.name.width() as f64 * 7.0 + 24.0;
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
    places.into_iter().map(|place| (place, plot.x_text(place))).collect()
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
}
