//! Accepts changes that are not kept, with a notice, if the object exists, and statements that drop what no store has.

use super::enumerations::no_type;
use super::state::Session;
use crate::ddl::absent_objects::DropAbsent;
use crate::ddl::unkept::{ChangedObject, UnkeptChange};
use crate::run::answer::Answer;
use atsdb_core::search_path::is_public;
use atsdb_core::{ErrorKind, Result};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::skipped::SkipNotice;

impl Session {
    /// Notes that there is nothing to drop.
    pub(super) fn drop_absent(&self, dropped: DropAbsent) -> Answer {
        for message in dropped.messages {
            self.note_skipped(SkipNotice { sqlstate: "00000", message });
        }
        Answer::Done { verb: dropped.verb, row_count: None }
    }

    pub(super) fn leave_out(&self, change: &UnkeptChange) -> Result<Answer> {
        let found = match change.object {
            ChangedObject::Relation => self.table(&change.name).map(drop),
            ChangedObject::Type => self.type_named(&change.name)?.map(drop).ok_or_else(|| no_type(&change.name)),
            ChangedObject::Schema => {
                let name = change.name.0.last().and_then(|part| part.as_ident()).filter(|_| change.name.0.len() == 1);
                let no_name = || sql_error(format!("{} is not the name of a schema", change.name));
                match name.ok_or_else(no_name)?.value.as_str() {
                    public if is_public(public) => Ok(()),
                    other => self.schema_named(other).map(drop),
                }
            }
        };
        match found {
            Ok(()) => self.note_skipped(SkipNotice { sqlstate: "00000", message: change.what.to_owned() }),
            Err(error) if change.if_exists && error.kind() == ErrorKind::Sql => {
                self.skip_missing("relation", &change.name);
            }
            Err(error) => return Err(error),
        }
        Ok(Answer::Done { verb: change.verb, row_count: None })
    }
}
