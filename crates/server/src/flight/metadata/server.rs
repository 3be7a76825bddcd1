//! The answers to `GetSqlInfo`: the server's name, version and supported features.

use super::tables::failed;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::{
    CommandGetSqlInfo, SqlInfo, SqlNullOrdering, SqlOuterJoinsSupportLevel, SqlSupportedCaseSensitivity,
    SqlSupportedGroupBy, SqlSupportedSubqueries, SqlSupportedTransaction, SqlSupportedUnions,
    SqlTransactionIsolationLevel,
};
use atsdb::Result;
use atsdb::arrow::ARROW_VERSION;
use atsdb::arrow::array::RecordBatch;
use atsdb::sql::{FunctionKind, functions};

/// Returns the answers to the questions of a command; to all if the command lists none.
pub(super) fn info(command: CommandGetSqlInfo) -> Result<RecordBatch> {
    let known = known()?.build().map_err(failed)?;
    command.into_builder(&known).build().map_err(failed)
}

fn known() -> Result<SqlInfoDataBuilder> {
    use SqlInfo as I;
    let mut info = SqlInfoDataBuilder::new();
    info.append(I::FlightSqlServerName, "atsdb");
    info.append(I::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(I::FlightSqlServerArrowVersion, ARROW_VERSION);
    info.append(I::FlightSqlServerReadOnly, false);
    info.append(I::FlightSqlServerSql, true);
    info.append(I::FlightSqlServerSubstrait, false);
    info.append(I::FlightSqlServerTransaction, SqlSupportedTransaction::Transaction as i32);
    info.append(I::FlightSqlServerCancel, true);
    info.append(I::FlightSqlServerBulkIngestion, true);
    info.append(I::FlightSqlServerIngestTransactionsSupported, true);
    info.append(I::FlightSqlServerStatementTimeout, 0);
    info.append(I::FlightSqlServerTransactionTimeout, 0);
    info.append(I::SqlDdlCatalog, false);
    info.append(I::SqlDdlSchema, false);
    info.append(I::SqlDdlTable, true);
    info.append(I::SqlIdentifierCase, SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i64);
    info.append(I::SqlQuotedIdentifierCase, SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i64);
    info.append(I::SqlIdentifierQuoteChar, "\"");
    info.append(I::SqlAllTablesAreSelectable, true);
    info.append(I::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedHigh as i64);
    info.append(I::SqlKeywords, &[] as &[&str]);
    info.append(I::SqlNumericFunctions, &[] as &[&str]);
    let scalar = functions()?.into_iter().filter(|function| function.kind == FunctionKind::Scalar);
    info.append(I::SqlSystemFunctions, scalar.map(|function| function.name).collect::<Vec<_>>());
    info.append(I::SqlStringFunctions, &[] as &[&str]);
    info.append(I::SqlDatetimeFunctions, &[] as &[&str]);
    info.append(I::SqlSearchStringEscape, "\\");
    info.append(I::SqlExtraNameCharacters, "");
    info.append(I::SqlSupportsColumnAliasing, true);
    info.append(I::SqlNullPlusNullIsNull, true);
    info.append(I::SqlSupportsTableCorrelationNames, true);
    info.append(I::SqlSupportsDifferentTableCorrelationNames, false);
    info.append(I::SqlSupportsExpressionsInOrderBy, true);
    info.append(I::SqlSupportsOrderByUnrelated, true);
    info.append(I::SqlSupportedGroupBy, mask(&[SqlSupportedGroupBy::SqlGroupByUnrelated as i32]));
    info.append(I::SqlSupportsLikeEscapeClause, true);
    info.append(I::SqlSupportsNonNullableColumns, true);
    info.append(I::SqlOuterJoinsSupportLevel, mask(&[SqlOuterJoinsSupportLevel::SqlFullOuterJoins as i32]));
    info.append(I::SqlSchemaTerm, "schema");
    info.append(I::SqlCatalogTerm, "catalog");
    info.append(I::SqlCatalogAtStart, true);
    info.append(I::SqlSelectForUpdateSupported, false);
    info.append(I::SqlStoredProceduresSupported, false);
    let subqueries = [
        SqlSupportedSubqueries::SqlSubqueriesInComparisons,
        SqlSupportedSubqueries::SqlSubqueriesInExists,
        SqlSupportedSubqueries::SqlSubqueriesInIns,
    ];
    info.append(I::SqlSupportedSubqueries, mask(&subqueries.map(|one| one as i32)));
    info.append(I::SqlCorrelatedSubqueriesSupported, true);
    let unions = [SqlSupportedUnions::SqlUnion, SqlSupportedUnions::SqlUnionAll];
    info.append(I::SqlSupportedUnions, mask(&unions.map(|one| one as i32)));
    let level = SqlTransactionIsolationLevel::SqlTransactionRepeatableRead;
    info.append(I::SqlDefaultTransactionIsolation, level as i64);
    info.append(I::SqlTransactionsSupported, true);
    info.append(I::SqlSupportedTransactionsIsolationLevels, mask(&[level as i32]));
    info.append(I::SqlDataDefinitionCausesTransactionCommit, false);
    info.append(I::SqlDataDefinitionsInTransactionsIgnored, false);
    info.append(I::SqlBatchUpdatesSupported, true);
    info.append(I::SqlSavepointsSupported, false);
    Ok(info)
}

/// The bits with these numbers.
fn mask(bits: &[i32]) -> i32 {
    bits.iter().fold(0, |mask, bit| mask | 1 << bit)
}
