//! How the numbers of a column are written in each file: with decimal points, with decimal commas, or with commas
//! between thousands.

use crate::facts::{Facts, kind};
use crate::options::Options;
use crate::values::comma_numbers::NumberForm;

/// Kinds of numbers that have commas between thousands for sure.
const THOUSANDS: u16 = kind::THOUSANDS | kind::THOUSANDS_POINT;

/// The form of the numbers of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NumberForms {
    /// One for each file.
    pub(crate) of_files: Vec<NumberForm>,
    /// The kinds of the values, where numbers with commas are those that they are read as. If the meaning of a comma
    /// is open, these numbers keep their kinds.
    pub(crate) kinds: u16,
    /// Whether another value may still show what the commas mean.
    pub(crate) is_open: bool,
}

impl NumberForms {
    /// Decides the form of the numbers of a column, by all of them together, or else in each file by its own. `all` are
    /// the facts of all files together, and `files` those of each one that has the column.
    pub(crate) fn of(all: &Facts, files: &[Option<&Facts>], options: &Options) -> Self {
        let of_each = || {
            let own =
                files.iter().map(|facts| facts.map_or(Some(NumberForm::Point), |facts| sure_form(facts, options)));
            own.collect::<Option<Vec<_>>>()
        };
        match form(all, options).map(|form| vec![form; files.len()]).or_else(of_each) {
            Some(of_files) => {
                let read = files.iter().zip(&of_files).filter_map(|(facts, form)| Some(read_kinds((*facts)?, *form)));
                let kinds = read.fold(0, |kinds, of_file| kinds | of_file);
                Self { of_files, kinds, is_open: false }
            }
            None => Self {
                of_files: vec![NumberForm::Point; files.len()],
                kinds: all.kinds,
                is_open: all.kinds & !(kind::NUMBERS | kind::COMMA_EITHER | kind::COMMA_LIST) == 0,
            },
        }
    }

    /// Returns whether the numbers have this form in a file.
    pub(crate) fn has(&self, form: NumberForm) -> bool {
        self.of_files.contains(&form)
    }
}

/// The form of numbers that nothing contradicts. `None` if the meaning of a comma is open.
fn form(facts: &Facts, options: &Options) -> Option<NumberForm> {
    let within = |allowed: u16| facts.kinds & !allowed == 0;
    let may_be_decimal = kind::COMMA | kind::COMMA_EITHER | if facts.has_decimal_point { 0 } else { kind::FLOAT };
    let is_decimal = facts.kinds & kind::COMMA != 0 || (options.decimal_comma && facts.kinds & may_be_decimal != 0);
    if is_decimal && within(kind::INT | may_be_decimal) {
        return Some(NumberForm::DecimalComma);
    }
    let is_apart = facts.kinds & THOUSANDS != 0 && !options.decimal_comma;
    let may_be_apart = kind::COMMA_EITHER | kind::COMMA_LIST | THOUSANDS;
    if is_apart && within(kind::INT | kind::LONG_INT | kind::FLOAT | may_be_apart) {
        return Some(NumberForm::CommaThousands);
    }
    (facts.kinds & kind::COMMAS == 0).then_some(NumberForm::Point)
}

/// The form of the numbers of a file, if they show it without those of other files.
fn sure_form(facts: &Facts, options: &Options) -> Option<NumberForm> {
    form(facts, options).filter(|form| *form != NumberForm::Point || !may_have_thousands(facts))
}

/// Returns whether a column has numbers with points that may all stand between thousands: `1.234`.
pub(crate) fn may_have_thousands(facts: &Facts) -> bool {
    facts.first_point.is_some() && !facts.has_decimal_point && facts.kinds & !(kind::INT | kind::FLOAT) == 0
}

/// The kinds of values whose numbers are read in this form.
fn read_kinds(facts: &Facts, form: NumberForm) -> u16 {
    let has = |kinds: u16| facts.kinds & kinds != 0;
    let of_commas = match form {
        NumberForm::DecimalComma if has(kind::COMMAS) => kind::FLOAT,
        NumberForm::CommaThousands => {
            let whole = if has(kind::THOUSANDS | kind::COMMA_EITHER | kind::COMMA_LIST) { kind::INT } else { 0 };
            whole | if has(kind::THOUSANDS_POINT) { kind::FLOAT } else { 0 }
        }
        _ => 0,
    };
    facts.kinds & !kind::COMMAS | of_commas
}
