//! Callers whose requests name no database, or one that does not exist. Error messages list only the databases that
//! such a caller may use.

use super::list::{Databases, OpenDatabase};
use crate::access::authenticate::{Credentials, Refusal};
use crate::access::caller::{Caller, Peer};
use crate::access::state::Access;

/// A caller that one database has authenticated.
#[derive(Debug, Clone)]
pub(crate) struct KnownCaller {
    pub(crate) caller: Caller,
    /// The databases that the caller may know of.
    pub(crate) databases: Vec<OpenDatabase>,
}

impl KnownCaller {
    /// The names of the databases, for a message.
    pub(crate) fn names(&self) -> String {
        names(&self.databases)
    }
}

/// The names of databases, for a message.
pub(crate) fn names(databases: &[OpenDatabase]) -> String {
    databases.iter().map(OpenDatabase::name).collect::<Vec<_>>().join(", ")
}

impl Databases {
    /// The database that checks credentials if no database is named: the first one that knows the user or the token,
    /// then one that needs none, then any, which refuses them.
    pub(crate) fn authority(&self, knows: impl Fn(&Access) -> bool, peer: Peer) -> Option<&OpenDatabase> {
        let needs_none = |database: &&OpenDatabase| database.access.anybody(peer).is_some();
        let knowing = self.opened().find(|database| knows(&database.access));
        knowing.or_else(|| self.opened().find(needs_none)).or_else(|| self.opened().next())
    }

    /// Checks the credentials of a request that is not about one database. If it names one that exists, that one does.
    pub(crate) async fn authenticate(
        &self,
        named: Option<&OpenDatabase>,
        credentials: Option<Credentials>,
        peer: Peer,
    ) -> Result<KnownCaller, Refusal> {
        let knows = |access: &Access| credentials.as_ref().is_some_and(|credentials| access.knows(credentials));
        let database = named.or_else(|| self.authority(knows, peer)).ok_or(Refusal::Missing)?;
        let checked = database.access.authenticate(credentials, peer).await;
        let caller = checked.map_err(|refusal| match refusal {
            // The client of a database that is not open must retry later instead of giving up.
            Refusal::Wrong if named.is_none() && !self.are_all_open() => Refusal::Unverifiable,
            refusal => refusal,
        })?;
        let databases = self.visible(&caller, database, peer);
        Ok(KnownCaller { caller, databases })
    }

    /// The databases that a caller may know of: the own one, those that need no user, and those that have a user of the
    /// same name. The caller has no rights in them without the credentials for them.
    pub(crate) fn visible(&self, caller: &Caller, own: &OpenDatabase, peer: Peer) -> Vec<OpenDatabase> {
        let may_know = |database: &&OpenDatabase| {
            database.position == own.position
                || database.access.anybody(peer).is_some()
                || caller.user.as_deref().is_some_and(|user| database.access.role_of(user).is_some())
        };
        self.opened().filter(may_know).cloned().collect()
    }
}
