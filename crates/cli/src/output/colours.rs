//! The colours of the series in pictures.

/// Colours that people with any kind of colour vision can distinguish (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000"];

/// A part of a circle that is far from all of its small multiples (the golden angle), in degrees.
const HUE_STEP: f64 = 137.508;

/// How dark the colours after the first ones are, in turn.
const LIGHTNESSES: [f64; 3] = [0.35, 0.55, 0.45];

/// The colour of a series. No two of the first thousand are the same.
pub(super) fn colour(number: usize) -> String {
    if let Some(colour) = COLOURS.get(number) {
        return (*colour).to_owned();
    }
    let hue = (number as f64 * HUE_STEP) % 360.0;
    let [red, green, blue] = rgb(hue, 0.7, LIGHTNESSES[number % LIGHTNESSES.len()]);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Red, green and blue of a hue in degrees, a saturation and a lightness.
fn rgb(hue: f64, saturation: f64, lightness: f64) -> [u64; 3] {
    let width = saturation * lightness.min(1.0 - lightness);
    [0.0, 8.0, 4.0].map(|offset| {
        let place = (offset + hue / 30.0) % 12.0;
        let value = lightness - width * (place - 3.0).min(9.0 - place).clamp(-1.0, 1.0);
        (value * 255.0).round() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_series_has_its_own_colour() {
        let colours: HashSet<String> = (0..1_000).map(colour).collect();
        assert_eq!(colours.len(), 1_000);
        assert!(colours.iter().all(|colour| colour.len() == 7), "{colours:?}");
        assert_eq!(rgb(0.0, 1.0, 0.5), [255, 0, 0]);
        assert_eq!(rgb(120.0, 1.0, 0.25), [0, 128, 0]);
    }
}
