//! `SET`, `RESET` and `SHOW`. Each method but the last returns the tag of the statement.

use super::block::Block;
use super::execute::Outcome;
use super::permission::DEFAULT_READ_ONLY;
use super::session::Connection;
use crate::pg::catalogue::value::Value;
use crate::pg::error::Failure;
use crate::pg::rows::RowSource;
use crate::pg::settings::spelled;
use crate::pg::types::known;
use crate::pg::wire::outgoing::ResultColumn;

impl Connection {
    /// `SET`, also `SET LOCAL`.
    pub(super) fn set_by_sql(&mut self, name: &str, value: Option<&str>, is_local: bool) -> Result<String, Failure> {
        if is_local {
            self.warn_outside_of_block("SET LOCAL");
        }
        self.set(name, value, is_local)?;
        Ok("SET".to_owned())
    }

    /// `SET TRANSACTION`. Every transaction has the same isolation: a snapshot, and conflicts that are detected at its
    /// end.
    pub(super) fn set_transaction(&mut self, read_only: Option<bool>, is_session: bool) -> Result<String, Failure> {
        match read_only {
            Some(read_only) if is_session => {
                self.set(DEFAULT_READ_ONLY, Some(if read_only { "on" } else { "off" }), false)?;
            }
            Some(read_only) => self.set_transaction_read_only(read_only)?,
            None => {}
        }
        if !is_session {
            self.warn_outside_of_block("SET TRANSACTION");
        }
        Ok("SET".to_owned())
    }

    /// `SET CONSTRAINTS`.
    pub(super) fn set_constraints(&mut self, text: &str) -> Result<String, Failure> {
        self.warn_outside_of_block("SET CONSTRAINTS");
        // It may check the rows of the transaction.
        self.take_permit()?;
        self.session.execute(text)?;
        Ok("SET CONSTRAINTS".to_owned())
    }

    /// `RESET` of one setting, or of all.
    pub(super) fn reset_by_sql(&mut self, name: Option<&str>) -> Result<String, Failure> {
        match name {
            Some(name) => self.set(name, None, false)?,
            None => self.reset_settings()?,
        }
        Ok("RESET".to_owned())
    }

    pub(super) fn reset_settings(&mut self) -> Result<(), Failure> {
        self.settings.begin_transaction();
        for (name, value) in self.settings.reset_all() {
            self.io.out.parameter(name, &value);
        }
        self.follow_search_path()
    }

    /// Warns that a statement has no effect, because there is no transaction block.
    pub(super) fn warn_outside_of_block(&mut self, statement: &str) {
        if self.block == Block::None {
            self.warn("25P01", format!("{statement} can only be used in transaction blocks"));
        }
    }

    /// The columns of a SHOW.
    pub(super) fn columns_of_show(&self, name: &str) -> Vec<ResultColumn> {
        let names: &[&str] = if name == "all" { &["name", "setting", "description"] } else { &[spelled(name)] };
        names.iter().map(|name| ResultColumn::new(*name, known::TEXT)).collect()
    }

    pub(super) fn show(&self, name: &str) -> Result<Outcome, Failure> {
        let rows = match name {
            "all" => {
                let of = self.settings.all().map(|(name, value, known)| {
                    let description = known.map_or("", |known| known.description);
                    Vec::from([name, value, description].map(Value::text))
                });
                of.collect()
            }
            _ => vec![vec![Value::text(self.settings.show(name)?)]],
        };
        Ok(Outcome::Rows { rows: RowSource::values(self.columns_of_show(name), rows), verb: "SHOW" })
    }
}
