//! Time zones by the names that texts have: abbreviations, numbers, and names of the IANA database in `chrono-tz`.

use chrono_tz::{TZ_VARIANTS, Tz};

/// The abbreviations that PostgreSQL reads by default and whose offset is fixed, with the minutes ahead of UTC. Of an
/// abbreviation that several countries use, PostgreSQL's choice counts: `IST` is the one of Israel.
pub(super) const ABBREVIATIONS: [(&str, i64); 53] = [
    ("ACDT", 630),
    ("ACST", 570),
    ("ADT", -180),
    ("AEDT", 660),
    ("AEST", 600),
    ("AKDT", -480),
    ("AKST", -540),
    ("AST", -240),
    ("AWST", 480),
    ("BRT", -180),
    ("BST", 60),
    ("CDT", -300),
    ("CEST", 120),
    ("CET", 60),
    ("CETDST", 120),
    ("CST", -360),
    ("EAT", 180),
    ("EDT", -240),
    ("EEST", 180),
    ("EET", 120),
    ("EETDST", 180),
    ("EST", -300),
    ("GMT", 0),
    ("HKT", 480),
    ("HST", -600),
    ("ICT", 420),
    ("IDT", 180),
    ("IST", 120),
    ("JST", 540),
    ("KST", 540),
    ("MDT", -360),
    ("MEST", 120),
    ("MESZ", 120),
    ("MET", 60),
    ("METDST", 120),
    ("MEZ", 60),
    ("MST", -420),
    ("NDT", -150),
    ("NST", -210),
    ("NZDT", 780),
    ("NZST", 720),
    ("PDT", -420),
    ("PHT", 480),
    ("PKT", 300),
    ("PST", -480),
    ("SAST", 120),
    ("SGT", 480),
    ("UCT", 0),
    ("UT", 0),
    ("UTC", 0),
    ("WET", 0),
    ("Z", 0),
    ("ZULU", 0),
];

/// The largest offset from UTC that PostgreSQL accepts as a number, in seconds.
const OFFSET_MAX: i64 = 16 * 3_600;

/// The seconds ahead of UTC of a zone that never changes its clocks: an abbreviation, `+02:00` east of Greenwich, or
/// `GMT+2`, in which POSIX counts to the west.
pub(super) fn fixed_offset(name: &str) -> Option<i64> {
    let abbreviated = ABBREVIATIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    if let Some((_, minutes)) = abbreviated {
        return Some(minutes * 60);
    }
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
    let ahead = signed_offset(&name[letters..])?;
    match letters {
        0 => Some(ahead),
        3.. => Some(-ahead),
        _ => None,
    }
}

/// The seconds of `+2`, `+02`, `-0530`, `+02:00`, `+02:00:30`.
fn signed_offset(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let number = |part: &str| {
        let is_number = matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| is_number)
    };
    let digits = text.strip_prefix(['+', '-'])?;
    let parts: Vec<&str> = match digits.len() {
        3 | 4 if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let (hours, minutes) = digits.split_at(digits.len() - 2);
            vec![hours, minutes]
        }
        _ => digits.split(':').collect(),
    };
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hours] => (number(hours)?, 0, 0),
        [hours, minutes] => (number(hours)?, number(minutes)?, 0),
        [hours, minutes, seconds] => (number(hours)?, number(minutes)?, number(seconds)?),
        _ => return None,
    };
    let ahead = hours * 3_600 + minutes * 60 + seconds;
    (minutes <= 59 && seconds <= 59 && ahead < OFFSET_MAX).then_some(sign * ahead)
}

/// The zone of the IANA database with a name, in any case.
pub(super) fn zone_named(name: &str) -> Option<Tz> {
    name.parse().ok().or_else(|| TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)).copied())
}

/// Returns whether a text is the name of a zone.
pub(super) fn is_zone(name: &str) -> bool {
    fixed_offset(name).is_some() || zone_named(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_by_number_and_by_abbreviation() {
        for (name, ahead) in [
            ("+2", 7_200),
            ("-0530", -19_800),
            ("+530", 19_800),
            ("+15:59:59", 57_599),
            ("pst", -28_800),
            ("GMT+8", -28_800),
            ("MST+7:00", -25_200),
            ("PST-03:00", 10_800),
        ] {
            assert_eq!(fixed_offset(name), Some(ahead), "{name}");
        }
        for name in ["", "+", "2", "+16", "+02:60", "+2:", "ab+2", "Europe/Berlin"] {
            assert_eq!(fixed_offset(name), None, "{name}");
        }
    }
}
