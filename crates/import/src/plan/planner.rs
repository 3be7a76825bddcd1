//! Binds columns of the table to the files, and decides how times are parsed there.

use crate::facts::kind;
use crate::infer::column_type::{date_order, is_mixed};
use crate::infer::number_forms::may_have_thousands;
use crate::infer::time_column::{Merged, TimeChoice, unknown_epoch};
use crate::observe::Observed;
use crate::options::Options;
use crate::options::selection::flag_value;
use crate::plan::column::{Binding, TimeParsing};
use crate::values::comma_numbers::{NumberForm, plain_number};
use atsdb_core::time_text::{DateOrder, DateReading};
use atsdb_core::{Error, Result, TimeUnit};

/// Makes the plan's columns: [`created`](crate::plan::created) for a new table, [`existing`](crate::plan::existing)
/// for one that exists.
pub(crate) struct Planner<'a> {
    /// The files and their facts.
    pub(crate) observed: &'a Observed,
    /// The caller's options.
    pub(crate) options: &'a Options,
    /// The columns of the files that are read.
    pub(crate) merged: Vec<Merged>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl Planner<'_> {
    /// The number of rows observed.
    pub(crate) fn row_count(&self) -> u64 {
        self.observed.files.iter().map(|file| file.row_count).sum()
    }

    /// Notes as what the points and commas in the numbers of a column are read, where that is not plain.
    pub(crate) fn note_number_forms(&mut self, position: usize) {
        let Merged { name, facts, positions, numbers } = &self.merged[position];
        let in_file = |file: usize| positions[file].map(|field| &self.observed.files[file].columns[field]);
        let files_of = |form: NumberForm| (0..positions.len()).filter(move |file| numbers.of_files[*file] == form);
        let first_point = files_of(NumberForm::DecimalComma).find_map(|file| in_file(file)?.first_point.as_ref());
        let has_commas = |other: &Merged| other.numbers.has(NumberForm::DecimalComma);
        if let Some(first) = first_point {
            let whole = first.replace('.', "");
            self.notes.push(format!(
                "column {name}: points in numbers such as {first} are read as between thousands: {whole}"
            ));
        } else if may_have_thousands(facts) && self.merged.iter().any(has_commas) {
            self.notes.push(format!(
                "column {name}: the points in its numbers are read as decimal points, and other columns have decimal \
                 commas; if its points stand between thousands, pass --decimal-comma"
            ));
        }
        let first = facts.first_thousands.as_ref().filter(|_| numbers.has(NumberForm::CommaThousands));
        if let Some(first) = first
            && let Some(plain) = plain_number(first.as_bytes(), NumberForm::CommaThousands)
        {
            let plain = String::from_utf8_lossy(&plain);
            self.notes.push(format!(
                "column {name}: commas in numbers such as {first} are read as between thousands: {plain}; --map {} \
                 keeps the column as text",
                flag_value(name)
            ));
        }
        let forms = [
            (NumberForm::DecimalComma, "decimal commas"),
            (NumberForm::CommaThousands, "commas between thousands"),
            (NumberForm::Point, "decimal points"),
        ];
        let seen: Vec<String> = forms
            .into_iter()
            .filter_map(|(form, what)| {
                let file = files_of(form).find(|file| in_file(*file).is_some_and(|facts| facts.number_count > 0))?;
                Some(format!("{what} in {}", self.observed.files[file].parser.file))
            })
            .collect();
        if seen.len() > 1 {
            self.notes.push(format!("column {name}: its numbers have {}", seen.join(", ")));
        }
    }

    /// The unit of a column's numbers; the finest one if files differ.
    pub(crate) fn epoch_unit(&self, position: usize) -> Result<Option<TimeUnit>> {
        let units =
            (0..self.observed.files.len()).map(|file| self.epoch_in(position, file)).collect::<Result<Vec<_>>>()?;
        Ok(units.into_iter().flatten().max())
    }

    fn epoch_in(&self, position: usize, file: usize) -> Result<Option<TimeUnit>> {
        let column = &self.merged[position];
        let Some(field) = column.positions[file] else { return Ok(None) };
        let facts = &self.observed.files[file].columns[field];
        if facts.kinds & (kind::NUMBERS) == 0 {
            return Ok(None);
        }
        let of_digits = || facts.digit_bounds().map(|_| TimeUnit::Second);
        match self.options.time_unit.or_else(of_digits).or_else(|| facts.epoch_unit()) {
            Some(unit) => Ok(Some(unit)),
            // A few numbers among texts are values at fault, not a question of units.
            None if facts.time_count > facts.number_count => Ok(None),
            None => Err(unknown_epoch(column)),
        }
    }

    /// Returns whether the numbers of a column of a file are dates and times that are written as digits.
    fn are_digits(&self, file: usize, field: usize) -> bool {
        self.options.time_unit.is_none() && self.observed.files[file].columns[field].digit_bounds().is_some()
    }

    /// The position of a column in each file, and the form of its times there.
    pub(crate) fn bindings(&mut self, position: usize, is_stamp: bool) -> Result<Vec<Binding>> {
        let file_count = self.observed.files.len();
        let orders = if is_stamp { self.orders(position)? } else { vec![None; file_count] };
        let mut bindings = Vec::with_capacity(file_count);
        for (file, order) in orders.into_iter().enumerate() {
            let dates = DateReading { order, until: self.options.times_until };
            let epoch = if is_stamp { self.epoch_in(position, file)? } else { None };
            bindings.push(match self.merged[position].positions[file] {
                Some(field) => {
                    let are_digits = self.are_digits(file, field);
                    Binding::Field(field, TimeParsing { dates, epoch, are_digits, zone: self.options.zone })
                }
                None => Binding::Missing,
            });
        }
        Ok(bindings)
    }

    /// The order of day and month in each file, according to its own dates, or else to those of the other files.
    fn orders(&mut self, position: usize) -> Result<Vec<Option<DateOrder>>> {
        let column = &self.merged[position];
        let files = &self.observed.files;
        if self.options.date_order.is_some() {
            return Ok(vec![self.options.date_order; files.len()]);
        }
        let seen = |file: usize| column.positions[file].map_or(0, |field| files[file].columns[field].orders);
        let own: Vec<_> = (0..files.len()).map(|file| date_order(seen(file))).collect();
        let mut decided: Vec<DateOrder> = own.iter().flatten().flatten().copied().collect();
        decided.dedup();
        let mut orders = Vec::new();
        let mut followers = Vec::new();
        for (file, own) in own.into_iter().enumerate() {
            let name = &files[file].parser.file;
            orders.push(match own {
                Ok(order) => order,
                Err(()) if is_mixed(seen(file)) => {
                    let message =
                        format!("{name}, column {}: some dates have the day first, others the month", column.name);
                    return Err(
                        Error::invalid(message).with_hint("pass --date-order dmy or mdy and correct the others")
                    );
                }
                Err(()) => match decided.as_slice() {
                    [order] if self.observed.is_complete() => {
                        followers.push(name.as_str());
                        Some(*order)
                    }
                    _ => {
                        let message = format!("{name}, column {}: no date shows which number is the day", column.name);
                        return Err(Error::usage(message).with_hint("pass --date-order dmy or --date-order mdy"));
                    }
                },
            });
        }
        if let [first, ..] = followers.as_slice() {
            let order = if decided == [DateOrder::DayFirst] { "day" } else { "month" };
            let note = format!(
                "the dates of {first}{} do not tell the order of day and month: the {order} is read first, as in the other files",
                if followers.len() > 1 { " and others" } else { "" }
            );
            self.notes.push(note);
        }
        Ok(orders)
    }

    /// The positions of the columns of the time in each file. They are marked as used.
    pub(crate) fn time_bindings(&mut self, choice: &TimeChoice, used: &mut [bool]) -> Result<Vec<Binding>> {
        let (first, positions) = match choice {
            TimeChoice::None(_) => return Ok(vec![Binding::Missing; self.observed.files.len()]),
            TimeChoice::Column(position) => (*position, vec![*position]),
            TimeChoice::DateClock(date, clock) => (*date, vec![*date, *clock]),
            TimeChoice::Parts(parts) => (parts[0], parts.clone()),
        };
        positions.iter().for_each(|position| used[*position] = true);
        let is_parts = matches!(choice, TimeChoice::Parts(_));
        let bindings = self.bindings(first, !is_parts)?;
        let mut combined = Vec::with_capacity(bindings.len());
        for (file, binding) in bindings.into_iter().enumerate() {
            let fields: Option<Vec<usize>> =
                positions.iter().map(|position| self.merged[*position].positions[file]).collect();
            let Some(fields) = fields else {
                let name = &self.observed.files[file].parser.file;
                return Err(Error::invalid(format!("{name}: some columns of the time are missing"))
                    .with_hint("import the file by itself, or give its columns the names that the other files have"));
            };
            combined.push(match (choice, binding) {
                (TimeChoice::DateClock(..), Binding::Field(date, parsing)) => {
                    Binding::DateClock(date, fields[1], parsing)
                }
                (TimeChoice::Parts(_), _) => Binding::Parts(fields),
                (_, binding) => binding,
            });
        }
        Ok(combined)
    }
}
