//! The cache of query plans. A plan depends on the statement, on the values of its parameters, and on the definitions
//! of all tables and views. The cache is valid for one state of the definitions, and is emptied when a statement sees
//! another state. Settings that may differ between the worker's sessions do not affect plans. A plan whose answer may
//! differ although nothing has changed, for example because it uses the current time, is not kept.

use super::describe::TypesAndColumns;
use super::query::{DefinitionScope, Query};
use super::recently_used::RecentlyUsed;
use crate::scan::direct::{DirectGroups, DirectRead, GroupsForm};
use arrow::datatypes::DataType;
use atsdb_core::name::name_key;
use atsdb_core::{SearchPath, Table, TableId};
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::template::{Constant, Template};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

/// The maximum size in bytes of a statement that is kept.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The texts of the statements that are kept, with the values of their parameters, have at most two times this many
/// bytes.
const KEPT_BYTES: usize = 4 << 20;

/// A statement's optimized plan, without a snapshot.
#[derive(Debug)]
pub(crate) struct CachedPlan {
    pub(crate) plan: LogicalPlan,
    pub(crate) headings: Arc<Headings>,
}

/// A cached result for a statement.
#[derive(Debug, Clone)]
pub(crate) enum CachedResult {
    /// The plan for some values of its parameters.
    Plan(Arc<CachedPlan>),
    /// The direct read that the statement is for any values of its parameters; `None` if it is not one.
    Direct(Option<Arc<DirectRead>>),
    /// The types of the statement's parameters, and the columns of its answer, without values.
    Described(Arc<TypesAndColumns>),
    /// The way in which the queries with a template are executed.
    Template(TemplateState),
}

/// How queries that differ only in their constants are executed, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) enum TemplateState {
    /// One of them was a direct read.
    Seen,
    Direct(Arc<TemplateRead>),
    /// They are no direct reads: each is planned.
    Planned,
}

/// The direct read that the queries with a template are, with their constants as values of these types.
#[derive(Debug)]
pub(crate) struct TemplateRead {
    pub(crate) types: Arc<[DataType]>,
    pub(crate) direct: DirectRead,
}

/// A query whose physical plan will show whether it is a direct read of groups.
pub(crate) struct Candidate {
    pub(crate) query: Query,
    pub(crate) form: GroupsForm,
    pub(crate) headings: Arc<Headings>,
}

/// The key of a cached result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PlanKey {
    text: String,
    parameters: KeyParameters,
    path: SearchPath,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum KeyParameters {
    Values(Vec<ScalarValue>),
    Types(Vec<DataType>),
    Declared(Vec<Option<DataType>>),
    /// The kinds of a template's constants.
    Constants(Vec<Discriminant<Constant>>),
}

impl PlanKey {
    /// The size of the text and of the values of parameters in bytes.
    fn bytes(&self) -> usize {
        let values = match &self.parameters {
            KeyParameters::Values(values) => ScalarValue::size_of_vec(values),
            KeyParameters::Types(_) | KeyParameters::Declared(_) | KeyParameters::Constants(_) => 0,
        };
        self.text.len() + values
    }

    fn of(text: &str, parameters: KeyParameters, path: &SearchPath) -> Option<Self> {
        (text.len() <= TEXT_BYTES_MAX).then(|| Self { text: text.to_owned(), parameters, path: path.clone() })
    }

    /// The key for the plan of a statement with these values; `None` if it is not kept.
    pub(crate) fn of_values(text: &str, parameters: &Parameters, path: &SearchPath) -> Option<Self> {
        let values = match parameters {
            Parameters::Values(values) => values.to_vec(),
            Parameters::Texts(texts) if texts.is_empty() => Vec::new(),
            Parameters::Texts(_) | Parameters::Types(_) => return None,
        };
        let parameters = KeyParameters::Values(values);
        Self::of(text, parameters, path)
    }

    /// The key for the direct read that a query is for any values of its parameters; `None` if it is not kept.
    fn of_direct_read(query: &Query) -> Option<Self> {
        Self::of_types(&query.text, &query.parameters, query.snapshot.search_path())
    }

    /// The key for the direct read of a statement with any values of these types; `None` if it is not kept.
    fn of_types(text: &str, parameters: &Parameters, path: &SearchPath) -> Option<Self> {
        let types = match parameters {
            Parameters::Values(values) => values.iter().map(ScalarValue::data_type).collect(),
            Parameters::Texts(texts) if texts.is_empty() => Vec::new(),
            Parameters::Texts(_) | Parameters::Types(_) => return None,
        };
        let parameters = KeyParameters::Types(types);
        Self::of(text, parameters, path)
    }

    /// The key for the description of a statement with these known types of its parameters; `None` if it is not kept.
    pub(crate) fn of_declared(text: &str, declared: &[Option<DataType>], path: &SearchPath) -> Option<Self> {
        let parameters = KeyParameters::Declared(declared.to_vec());
        Self::of(text, parameters, path)
    }

    /// The key for what is known of a template.
    fn of_template(template: &Template, path: &SearchPath) -> Option<Self> {
        let kinds = template.constants.iter().map(discriminant);
        Self::of(&template.text, KeyParameters::Constants(kinds.collect()), path)
    }
}

/// The keys for the direct read that a query is. `None` where nothing is kept.
pub(crate) struct DirectReadKeys {
    /// The key of the query, with any values of its parameters.
    pub(crate) of_query: Option<PlanKey>,
    /// The key of the query's template, if it has one.
    pub(crate) of_template: Option<PlanKey>,
}

impl DirectReadKeys {
    pub(crate) fn of(text: &str, parameters: &Parameters, template: Option<&Template>, path: &SearchPath) -> Self {
        Self {
            of_query: PlanKey::of_types(text, parameters, path),
            of_template: template.and_then(|template| PlanKey::of_template(template, path)),
        }
    }
}

/// Cached plans for one state of all definitions.
#[derive(Debug, Default)]
pub(crate) struct PlanCache(Mutex<PlanCacheState>);

#[derive(Debug)]
struct PlanCacheState {
    tables: Vec<Table>,
    versions: Vec<(TableId, u64)>,
    results: RecentlyUsed<PlanKey, CachedResult>,
}

impl PlanCache {
    /// The cached result for a statement under these definitions.
    pub(crate) fn get(&self, key: &PlanKey, tables: &[Table], scope: DefinitionScope) -> Option<CachedResult> {
        let mut state = self.0.lock();
        if !state.is_of(tables, scope) {
            return None;
        }
        state.results.get(key)
    }

    /// Returns the state of a query's template; `None` if the cache does not have it.
    pub(crate) fn template(&self, query: &Query, template: &Template) -> Option<TemplateState> {
        self.template_by_key(&PlanKey::of_template(template, query.snapshot.search_path())?, query)
    }

    /// [`template`](Self::template) of a query whose template has this key.
    pub(crate) fn template_by_key(&self, key: &PlanKey, query: &Query) -> Option<TemplateState> {
        match self.get(key, query.snapshot.tables(), query.scope?)? {
            CachedResult::Template(state) => Some(state),
            _ => None,
        }
    }

    pub(crate) fn put_template(&self, query: &Query, template: &Template, state: TemplateState) {
        let key = PlanKey::of_template(template, query.snapshot.search_path());
        let (Some(key), Some(scope)) = (key, query.scope) else { return };
        self.put(key, CachedResult::Template(state), query.snapshot.tables(), scope);
    }

    /// The direct read that a query is for any values of its parameters, if it is one.
    pub(crate) fn direct_read(&self, query: &Query) -> Option<Arc<DirectRead>> {
        self.direct_read_by_key(&PlanKey::of_direct_read(query)?, query)
    }

    /// [`direct_read`](Self::direct_read) of a query that has this key.
    pub(crate) fn direct_read_by_key(&self, key: &PlanKey, query: &Query) -> Option<Arc<DirectRead>> {
        match self.get(key, query.snapshot.tables(), query.scope?)? {
            CachedResult::Direct(direct) => direct,
            _ => None,
        }
    }

    /// Returns whether a query that was planned lately, with one of these keys, was a direct read that may take only a
    /// moment. The definitions may have changed since.
    pub(crate) fn may_be_short(&self, keys: &DirectReadKeys) -> bool {
        let mut state = self.0.lock();
        keys.of_query.iter().chain(&keys.of_template).any(|key| match state.results.get(key) {
            Some(CachedResult::Direct(Some(direct))) => direct.may_be_short(),
            Some(CachedResult::Template(TemplateState::Direct(read))) => read.direct.may_be_short(),
            _ => false,
        })
    }

    /// Notes what the physical plan of a query, for this many threads, shows.
    pub(crate) fn learn(&self, candidate: Candidate, plan: &Arc<dyn ExecutionPlan>, threads: usize) {
        let Candidate { query, form, headings } = candidate;
        let (Some(key), Some(scope)) = (PlanKey::of_direct_read(&query), query.scope) else { return };
        let groups = DirectGroups::of(form, plan, threads, &query.parameters, &headings);
        let direct = groups.map(|groups| Arc::new(DirectRead::Groups(groups)));
        self.put(key, CachedResult::Direct(direct), query.snapshot.tables(), scope);
    }

    pub(crate) fn put(&self, key: PlanKey, kept: CachedResult, tables: &[Table], scope: DefinitionScope) {
        let mut state = self.0.lock();
        if !state.is_of(tables, scope) {
            if scope == DefinitionScope::Transaction {
                return;
            }
            let versions = versions(tables).collect();
            *state = PlanCacheState { tables: tables.to_vec(), versions, ..PlanCacheState::default() };
        }
        let bytes = key.bytes();
        state.results.put(key, kept, bytes);
    }
}

impl Default for PlanCacheState {
    fn default() -> Self {
        Self { tables: Vec::new(), versions: Vec::new(), results: RecentlyUsed::new(KEPT_BYTES) }
    }
}

impl PlanCacheState {
    fn is_of(&self, tables: &[Table], scope: DefinitionScope) -> bool {
        match scope {
            DefinitionScope::Committed => versions(tables).eq(self.versions.iter().copied()),
            DefinitionScope::Transaction => self.tables == tables,
        }
    }
}

/// Identifies a definition among others of the same table. The definition of a rollup changes with each refresh. No
/// cached plan reads a rollup, but its names are spelled as it declares them.
fn versions(tables: &[Table]) -> impl Iterator<Item = (TableId, u64)> {
    tables.iter().map(|table| {
        let version = match table.definition.rollup {
            None => table.version.0.unsigned_abs(),
            Some(_) => {
                let mut hasher = DefaultHasher::new();
                name_key(&table.definition.name).hash(&mut hasher);
                table.definition.columns.iter().for_each(|column| column.name.hash(&mut hasher));
                hasher.finish()
            }
        };
        (table.id, version)
    })
}

/// The cache keys of a query.
pub(crate) fn keys_of(query: &Query) -> Option<(PlanKey, PlanKey, DefinitionScope)> {
    let scope = query.scope?;
    let values = PlanKey::of_values(&query.text, &query.parameters, query.snapshot.search_path())?;
    Some((values, PlanKey::of_direct_read(query)?, scope))
}
