//! Names as Prometheus makes them of OpenTelemetry's (otlptranslator, "UnderscoreEscapingWithSuffixes").

use super::points::PointKind;

const UNITS: [(&str, &str); 25] = [
    ("d", "days"),
    ("h", "hours"),
    ("min", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("By", "bytes"),
    ("KiBy", "kibibytes"),
    ("MiBy", "mebibytes"),
    ("GiBy", "gibibytes"),
    ("TiBy", "tibibytes"),
    ("KBy", "kilobytes"),
    ("MBy", "megabytes"),
    ("GBy", "gigabytes"),
    ("TBy", "terabytes"),
    ("m", "meters"),
    ("V", "volts"),
    ("A", "amperes"),
    ("J", "joules"),
    ("W", "watts"),
    ("g", "grams"),
    ("Cel", "celsius"),
    ("Hz", "hertz"),
    ("%", "percent"),
];

const PER_UNITS: [(&str, &str); 7] =
    [("s", "second"), ("m", "minute"), ("h", "hour"), ("d", "day"), ("w", "week"), ("mo", "month"), ("y", "year")];

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == ':'
}

/// The two parts of a unit like `By/s`: `bytes` and `per_second`.
fn unit_suffixes(unit: &str) -> (String, String) {
    let named = |unit: &str, names: &[(&str, &str)]| {
        let unit = unit.trim();
        if unit.contains(['{', '}']) {
            return String::new();
        }
        names.iter().find(|(own, _)| *own == unit).map_or(unit, |(_, name)| name).to_owned()
    };
    let (main, per) = unit.split_once('/').unwrap_or((unit, ""));
    let main = if main.trim() == "1" { String::new() } else { named(main, &UNITS) };
    let per = named(per, &PER_UNITS);
    (main, if per.is_empty() { per } else { format!("per_{per}") })
}

/// A unit with underscores for characters that a name cannot have, without double or leading underscores.
fn clean(unit: &str) -> String {
    let parts: Vec<&str> = unit.split(|letter| !is_plain(letter)).collect();
    let mut cleaned = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 && !cleaned.is_empty() && !cleaned.ends_with('_') {
            cleaned.push('_');
        }
        cleaned.push_str(part);
    }
    cleaned
}

/// The unit in the metadata of a metric.
pub(super) fn unit_name(unit: &str) -> String {
    let (main, per) = unit_suffixes(unit);
    let parts = [clean(&main), clean(&per)];
    let named: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    named.join("_").trim_matches('_').to_owned()
}

/// Converts the name of a metric. `None` if no character is valid in a name.
pub(super) fn metric_name(name: &str, unit: &str, kind: PointKind) -> Option<String> {
    let mut words: Vec<String> =
        name.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let (main, per) = unit_suffixes(unit);
    let (mut main, per) = (clean(&main), clean(&per));
    if words.contains(&main) {
        main.clear();
    }
    let per = per.trim_end_matches('_').to_owned();
    let per = if per == "per" || words.contains(&per) { String::new() } else { per };
    if !per.is_empty() {
        main = main.trim_end_matches('_').to_owned();
    }
    words.extend([main, per].into_iter().filter(|word| !word.is_empty()));
    let last = match kind {
        PointKind::Sum { is_monotonic: true, .. } => Some("total"),
        PointKind::Gauge if unit == "1" => Some("ratio"),
        _ => None,
    };
    if let Some(last) = last {
        words.retain(|word| word != last);
        words.push(last.to_owned());
    }
    let mut name = words.join("_");
    if name.starts_with(|letter: char| letter.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name.chars().any(|letter| letter != '_').then_some(name)
}

/// Converts the name of a label. `None` if no character is valid in a name.
pub(super) fn label_name(name: &str) -> Option<String> {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut plain: String = name.chars().map(plain).collect();
    if plain.starts_with(|letter: char| letter.is_ascii_digit()) {
        plain.insert_str(0, "key_");
    } else if plain.starts_with('_') && !plain.starts_with("__") {
        plain.insert_str(0, "key");
    }
    plain.chars().any(|letter| letter != '_').then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::super::points::Temporality;
    use super::*;

    #[test]
    fn names_are_those_of_otlptranslator() {
        let counter = PointKind::Sum { temporality: Temporality::Cumulative, is_monotonic: true };
        let other = PointKind::Sum { temporality: Temporality::Cumulative, is_monotonic: false };
        let histogram = PointKind::Histogram { temporality: Temporality::Cumulative };
        for (name, unit, kind, expected) in [
            ("http.server.duration", "s", histogram, "http_server_duration_seconds"),
            ("requests.count", "1", counter, "requests_count_total"),
            ("requests.total.count", "", counter, "requests_count_total"),
            ("memory.usage", "By", PointKind::Gauge, "memory_usage_bytes"),
            ("memory.usage.bytes", "By", PointKind::Gauge, "memory_usage_bytes"),
            ("system.disk.io", "By/s", other, "system_disk_io_bytes_per_second"),
            ("queue", "{packets}/s", other, "queue_per_second"),
            ("queue", "{packets}", other, "queue"),
            ("cpu.use", "1", PointKind::Gauge, "cpu_use_ratio"),
            ("cpu__use", "%", PointKind::Gauge, "cpu_use_percent"),
            ("2xx", "", PointKind::Gauge, "_2xx"),
            ("speed", "foo/bar", PointKind::Gauge, "speed_foo_per_bar"),
            ("a:b", "km²", PointKind::Gauge, "a:b_km_"),
        ] {
            assert_eq!(metric_name(name, unit, kind).as_deref(), Some(expected), "{name} {unit}");
        }
        assert_eq!(metric_name("ö.ü", "", other), None);
        for (name, expected) in [
            ("http.method", "http_method"),
            ("1st", "key_1st"),
            ("_own", "key_own"),
            ("__reserved__", "__reserved__"),
            ("a..b", "a__b"),
        ] {
            assert_eq!(label_name(name).as_deref(), Some(expected));
        }
        assert_eq!((label_name("").as_deref(), label_name("__").as_deref()), (None, None));
        assert_eq!(
            (unit_name("By/s"), unit_name("1"), unit_name("{x}/s")),
            ("bytes_per_second".into(), "".into(), "per_second".into())
        );
    }
}
