//! The settings of a session, for SET, RESET and SHOW.

use super::error::PgError;
use super::setting_list::{KNOWN, KnownSetting};
use super::setting_values::{checked, parse_milliseconds};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(in crate::pg) use super::setting_values::{SEARCH_PATH, parse_boolean, written_duration};

/// Settings that are reported to the client when it connects, and when they change.
const REPORTED: [&str; 13] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// The setting with the user as which a session acts; `none` is the one that has connected.
pub(in crate::pg) const ROLE: &str = "role";

/// The setting with the user that has connected.
pub(in crate::pg) const SESSION_AUTHORIZATION: &str = "session_authorization";

/// The setting for whether the current transaction is read-only.
pub(in crate::pg) const TRANSACTION_READ_ONLY: &str = "transaction_read_only";

/// The settings of one session.
#[derive(Debug, Clone)]
pub(in crate::pg) struct Settings {
    /// The values, by name in lower case.
    values: Values,
    /// The values that RESET restores: the defaults, and those with which the client connected.
    at_start: Values,
    /// The values before the open transaction, which a rollback restores.
    before: Option<Values>,
    /// The values that hold after the transaction, by the names of settings with another value until its end.
    after: BTreeMap<String, String>,
    /// The values at each savepoint of the open transaction, and those that hold after it.
    at_savepoints: Vec<(Values, BTreeMap<String, String>)>,
}

/// Values by name in lower case. Each transaction begins with a copy, so copies share them until one changes.
type Values = Arc<BTreeMap<String, String>>;

/// The messages that result from a change of a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::pg) struct SettingChange {
    /// Reported to the client as a parameter of the connection.
    pub(in crate::pg) report: Option<(&'static str, String)>,
    pub(in crate::pg) notice: Option<PgError>,
}

impl Settings {
    pub(in crate::pg) fn new(user: &str, port: u16, connections_max: usize) -> Self {
        let mut values: BTreeMap<String, String> =
            KNOWN.iter().map(|known| (known.name.to_lowercase(), known.value.to_owned())).collect();
        values.insert(SESSION_AUTHORIZATION.to_owned(), user.to_owned());
        values.insert("port".to_owned(), port.to_string());
        values.insert("max_connections".to_owned(), connections_max.to_string());
        let values = Arc::new(values);
        let at_start = Arc::clone(&values);
        Self { at_start, values, before: None, after: BTreeMap::new(), at_savepoints: Vec::new() }
    }

    /// Sets a value that the client cannot change, now and for RESET.
    pub(in crate::pg) fn fix(&mut self, name: &str, value: &str) {
        self.fix_now(name, value);
        Arc::make_mut(&mut self.at_start).insert(name.to_owned(), value.to_owned());
    }

    /// Sets a value that RESET does not restore.
    pub(in crate::pg) fn fix_now(&mut self, name: &str, value: &str) {
        if self.values.get(name).is_none_or(|present| present != value) {
            Arc::make_mut(&mut self.values).insert(name.to_owned(), value.to_owned());
        }
    }

    /// Sets a value that the client requests when it connects. RESET restores it.
    pub(in crate::pg) fn begin_with(&mut self, name: &str, value: &str) -> Result<(), PgError> {
        self.set(name, Some(value))?;
        self.at_start = Arc::clone(&self.values);
        Ok(())
    }

    pub(in crate::pg) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(&name.to_lowercase()).map(String::as_str)
    }

    pub(in crate::pg) fn show(&self, name: &str) -> Result<&str, PgError> {
        self.get(name).ok_or_else(|| unknown(name))
    }

    /// All settings, by name, with what is known of them.
    pub(in crate::pg) fn all(&self) -> impl Iterator<Item = (&str, &str, Option<&'static KnownSetting>)> {
        self.values.iter().map(|(name, value)| {
            let known = KnownSetting::named(name);
            (known.map_or(name.as_str(), |known| known.name), value.as_str(), known)
        })
    }

    /// The value that RESET restores.
    pub(in crate::pg) fn initial(&self, name: &str) -> Option<&str> {
        self.at_start.get(&name.to_lowercase()).map(String::as_str)
    }

    /// The parameters that are reported at the start of a connection.
    pub(in crate::pg) fn reported(&self) -> impl Iterator<Item = (&'static str, &str)> {
        REPORTED.into_iter().map(|name| (name, self.get(name).unwrap_or_default()))
    }

    /// A duration setting in milliseconds; `None` means no limit.
    pub(in crate::pg) fn milliseconds(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(parse_milliseconds).filter(|limit| *limit > 0)
    }

    /// Changes a setting; without a value the initial one is restored.
    pub(in crate::pg) fn set(&mut self, name: &str, value: Option<&str>) -> Result<SettingChange, PgError> {
        let key = name.to_lowercase();
        let value = match value {
            Some(value) => value.to_owned(),
            None => self.at_start.get(&key).cloned().unwrap_or_default(),
        };
        // Names with a dot are the client's own settings.
        if !self.values.contains_key(&key) && !key.contains('.') {
            return Err(unknown(name));
        }
        let is_same = self.get(name) == Some(&value);
        let is_own = value == "none" || self.get(SESSION_AUTHORIZATION) == Some(&value);
        match key.as_str() {
            ROLE if !is_own => {
                let error = PgError::error("42501", format!("permission denied to set role \"{value}\""));
                return Err(error.with_hint("connect as that user"));
            }
            SESSION_AUTHORIZATION if !is_same => {
                let error = PgError::error("42501", "permission denied to set session authorization");
                return Err(error.with_hint("connect as that user"));
            }
            _ => {}
        }
        let known = KnownSetting::named(&key);
        if let Some(known) = known
            && !is_same
        {
            known.check_changeable(self.get("is_superuser") == Some("on"))?;
        }
        let (value, notice) = checked(&key, value)?;
        let value = match known {
            Some(known) => known.checked(value)?,
            None => value,
        };
        self.after.remove(&key);
        Arc::make_mut(&mut self.values).insert(key.clone(), value.clone());
        let reported = REPORTED.into_iter().find(|reported| reported.eq_ignore_ascii_case(&key));
        Ok(SettingChange { report: reported.filter(|_| !is_same).map(|reported| (reported, value)), notice })
    }

    /// Changes a setting until the end of the transaction; without a transaction it stays as it is.
    pub(in crate::pg) fn set_local(&mut self, name: &str, value: Option<&str>) -> Result<SettingChange, PgError> {
        if self.before.is_none() {
            return self.clone().set(name, value).map(|_| SettingChange::default());
        }
        let key = name.to_lowercase();
        // A setting of the client that had no value is empty afterwards, as in PostgreSQL.
        let after = self.after.get(&key).or_else(|| self.values.get(&key)).cloned().unwrap_or_default();
        let changed = self.set(name, value)?;
        self.after.insert(key, after);
        Ok(changed)
    }

    /// Returns whether a transaction has begun.
    pub(in crate::pg) fn in_transaction(&self) -> bool {
        self.before.is_some()
    }

    /// Begins a transaction: a rollback restores the present values.
    pub(in crate::pg) fn begin_transaction(&mut self) {
        self.before.get_or_insert_with(|| Arc::clone(&self.values));
    }

    /// Keeps the present values for a new savepoint, before which there are `earlier_count` others.
    pub(in crate::pg) fn set_savepoint(&mut self, earlier_count: usize) {
        self.at_savepoints.truncate(earlier_count);
        self.at_savepoints.push((Arc::clone(&self.values), self.after.clone()));
    }

    /// Restores the values of the last of the `left_count` savepoints that are left. Returns the reported settings that
    /// change by this.
    pub(in crate::pg) fn return_to_savepoint(&mut self, left_count: usize) -> Vec<(&'static str, String)> {
        self.at_savepoints.truncate(left_count);
        let Some((values, after)) = self.at_savepoints.last().cloned() else { return Vec::new() };
        self.after = after;
        let mode = values.get(TRANSACTION_READ_ONLY).cloned().unwrap_or_default();
        let changed = self.replace(values);
        self.fix_now(TRANSACTION_READ_ONLY, &mode);
        changed
    }

    /// Ends a transaction. Returns the reported settings that change by this.
    pub(in crate::pg) fn end_transaction(&mut self, is_committed: bool) -> Vec<(&'static str, String)> {
        self.at_savepoints.clear();
        let (before, after) = (self.before.take(), std::mem::take(&mut self.after));
        match before {
            Some(before) if !is_committed => self.replace(before),
            _ if after.is_empty() => Vec::new(),
            _ => {
                let mut values = Arc::clone(&self.values);
                Arc::make_mut(&mut values).extend(after);
                self.replace(values)
            }
        }
    }

    /// Restores the initial value of every setting.
    pub(in crate::pg) fn reset_all(&mut self) -> Vec<(&'static str, String)> {
        self.after.clear();
        self.replace(Arc::clone(&self.at_start))
    }

    /// Sets all values that clients may change. Returns the reported settings that change by this.
    fn replace(&mut self, values: Values) -> Vec<(&'static str, String)> {
        let before = std::mem::replace(&mut self.values, values);
        if Arc::ptr_eq(&before, &self.values) {
            return Vec::new();
        }
        // The mode of the current transaction stays, as does what clients cannot change.
        let kept = KNOWN.iter().filter(|known| !known.is_changeable()).map(|known| known.name);
        for name in kept.chain([TRANSACTION_READ_ONLY]) {
            if let Some(value) = before.get(name) {
                self.fix_now(name, value);
            }
        }
        let changed = |name: &&str| before.get(&name.to_lowercase()) != self.values.get(&name.to_lowercase());
        let reported = REPORTED.into_iter().filter(changed);
        reported.map(|name| (name, self.get(name).unwrap_or_default().to_owned())).collect()
    }
}

fn unknown(name: &str) -> PgError {
    PgError::error("42704", format!("unrecognized configuration parameter \"{name}\""))
}

/// A name as PostgreSQL spells it.
pub(in crate::pg) fn spelled(name: &str) -> &str {
    KnownSetting::named(name).map_or(name, |known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::sql::POSTGRES_VERSION;
    use std::time::Duration;

    #[test]
    fn settings_change_and_go_back() {
        let mut settings = Settings::new("me", 5433, 100);
        settings.begin_with("application_name", "psql").unwrap();
        let changed = settings.set("Application_Name", Some("x")).unwrap();
        assert_eq!(changed.report, Some(("application_name", "x".to_owned())));
        assert_eq!(settings.reset_all(), [("application_name", "psql".to_owned())]);
        assert_eq!(settings.show("SERVER_VERSION").unwrap(), POSTGRES_VERSION);
        settings.set("my.own", Some("1")).unwrap();
        assert_eq!(settings.get("my.own"), Some("1"));
    }

    #[test]
    fn the_end_of_a_transaction_restores_what_it_set() {
        let mut settings = Settings::new("me", 5433, 100);
        settings.set_local(SEARCH_PATH, Some("s")).unwrap();
        assert_eq!(settings.get(SEARCH_PATH), Some("\"$user\", public"), "there is no transaction");
        for (is_committed, path, name) in [(true, "\"$user\", public", "x"), (false, "\"$user\", public", "psql")] {
            settings.set("application_name", Some("psql")).unwrap();
            settings.begin_transaction();
            settings.set_local(SEARCH_PATH, Some("s")).unwrap();
            settings.set("application_name", Some("x")).unwrap();
            assert_eq!(settings.get(SEARCH_PATH), Some("s"));
            settings.end_transaction(is_committed);
            assert_eq!((settings.get(SEARCH_PATH), settings.get("application_name")), (Some(path), Some(name)));
        }
        settings.begin_transaction();
        settings.set_local(SEARCH_PATH, Some("s")).unwrap();
        settings.set(SEARCH_PATH, Some("t")).unwrap();
        settings.end_transaction(true);
        assert_eq!(settings.get(SEARCH_PATH), Some("t"));
        assert!(settings.set(SEARCH_PATH, Some("a,")).is_err());
    }

    #[test]
    fn a_setting_of_the_client_goes_back_as_well() {
        let mut settings = Settings::new("me", 5433, 100);
        for (before, value) in [("", "one"), ("kept", "two")] {
            settings.begin_transaction();
            settings.set_local("my.tenant", Some(value)).unwrap();
            assert_eq!(settings.get("my.tenant"), Some(value));
            settings.end_transaction(true);
            assert_eq!(settings.get("my.tenant"), Some(before));
            settings.set("my.tenant", Some("kept")).unwrap();
        }
    }

    #[test]
    fn a_savepoint_restores_what_was_set_after_it() {
        let mut settings = Settings::new("me", 5433, 100);
        settings.begin_transaction();
        settings.set("application_name", Some("one")).unwrap();
        settings.set_savepoint(0);
        settings.set_local(SEARCH_PATH, Some("s")).unwrap();
        settings.set("application_name", Some("two")).unwrap();
        settings.set_savepoint(1);
        settings.set("application_name", Some("three")).unwrap();
        assert_eq!(settings.return_to_savepoint(2), [("application_name", "two".to_owned())]);
        assert_eq!(settings.get(SEARCH_PATH), Some("s"));
        assert_eq!(settings.return_to_savepoint(1), [("application_name", "one".to_owned())]);
        assert_eq!(settings.get(SEARCH_PATH), Some("\"$user\", public"));
        settings.fix_now(TRANSACTION_READ_ONLY, "on");
        settings.return_to_savepoint(1);
        assert_eq!(settings.get(TRANSACTION_READ_ONLY), Some("off"));
        settings.set(SEARCH_PATH, Some("t")).unwrap();
        settings.end_transaction(true);
        assert_eq!((settings.get(SEARCH_PATH), settings.get("application_name")), (Some("t"), Some("one")));
    }

    #[test]
    fn a_session_acts_as_its_own_user_only() {
        let mut settings = Settings::new("me", 5433, 100);
        for (name, value) in [(ROLE, Some("me")), (ROLE, Some("none")), (ROLE, None)] {
            settings.set(name, value).unwrap();
        }
        for value in [Some("me"), None] {
            settings.set(SESSION_AUTHORIZATION, value).unwrap();
        }
        for name in [ROLE, SESSION_AUTHORIZATION] {
            assert_eq!(settings.set(name, Some("you")).unwrap_err().code, "42501", "{name}");
        }
        assert_eq!(settings.get(SESSION_AUTHORIZATION), Some("me"));
    }

    #[test]
    fn what_the_server_does_not_do_is_refused_or_said() {
        let mut settings = Settings::new("me", 5433, 100);
        let code = |settings: &mut Settings, name, value| settings.set(name, Some(value)).unwrap_err().code;
        assert_eq!(code(&mut settings, "nonsense", "1"), "42704");
        assert_eq!(code(&mut settings, "client_encoding", "LATIN1"), "0A000");
        for style in ["German", "SQL", "Postgres, MDY", "dmy", "ISO, YMD", "European"] {
            assert_eq!(code(&mut settings, "datestyle", style), "0A000", "{style}");
        }
        assert_eq!(code(&mut settings, "datestyle", "iso, soon"), "22023");
        for style in ["ISO", "mdy", "ISO, US", "default"] {
            settings.set("datestyle", Some(style)).unwrap();
            assert_eq!(settings.get("datestyle"), Some("ISO, MDY"));
        }
        let message = |settings: &mut Settings, name: &str| settings.set(name, Some("9")).unwrap_err().message;
        let cannot = "cannot be changed";
        for (name, when) in [("server_version", ""), ("max_connections", " without restarting the server")] {
            assert_eq!(message(&mut settings, name), format!("parameter \"{name}\" {cannot}{when}"));
            assert_eq!(code(&mut settings, name, "9"), "55P02");
        }
        assert_eq!(code(&mut settings, "enable_seqscan", "9"), "22023");
        settings.set("enable_seqscan", Some("FALSE")).unwrap();
        assert_eq!(settings.show("enable_seqscan").unwrap(), "off");
        settings.fix("is_superuser", "off");
        assert_eq!(code(&mut settings, "session_replication_role", "replica"), "42501");
        assert_eq!(code(&mut settings, "statement_timeout", "soon"), "22023");
        assert_eq!(code(&mut settings, "default_transaction_read_only", "maybe"), "22023");
        settings.set("default_transaction_read_only", Some("TRUE")).unwrap();
        assert_eq!(settings.get("default_transaction_read_only"), Some("on"));
        for zone in ["Europe/Berlin", "+02:00", "2", "PST"] {
            let changed = settings.set("TimeZone", Some(zone)).unwrap();
            assert!(changed.notice.is_some() && settings.get("timezone") == Some("UTC"), "{zone}");
        }
        let wrong = [("TimeZone", "Europe/Nowhere"), ("extra_float_digits", "4"), ("extra_float_digits", "x")];
        for (name, value) in wrong {
            assert_eq!(code(&mut settings, name, value), "22023", "{name}");
        }
        assert!(settings.set("extra_float_digits", Some("0")).unwrap().notice.is_some());
        assert_eq!(settings.set("extra_float_digits", Some("3")).unwrap(), SettingChange::default());
        assert_eq!(code(&mut settings, "client_min_messages", "loud"), "22023");
        settings.set("client_min_messages", Some("WARNING")).unwrap();
        assert_eq!(settings.get("client_min_messages"), Some("warning"));
        settings.set("statement_timeout", Some("2min")).unwrap();
        assert_eq!(settings.milliseconds("statement_timeout"), Some(120_000));
        for milliseconds in [1, 1_500, 30_000, 90_000, 600_000, 7_200_000] {
            let written = written_duration(Duration::from_millis(milliseconds));
            assert_eq!(parse_milliseconds(&written), Some(milliseconds), "{written}");
        }
    }
}
