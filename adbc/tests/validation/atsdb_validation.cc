// ADBC's own validation tests for this driver, loaded by the C driver manager. ATSDB_ADBC names the library. What a store
// has not is said in the quirks, so that the tests skip it.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <arrow-adbc/adbc.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nanoarrow/nanoarrow.h>

#include "validation/adbc_validation.h"
#include "validation/adbc_validation_util.h"

#define CHECKED(EXPR)                                 \
  do {                                              \
    AdbcStatusCode status_ = (EXPR);                \
    if (status_ != ADBC_STATUS_OK) return status_;  \
  } while (false)

class Quirks : public adbc_validation::DriverQuirks {
 public:
  AdbcStatusCode SetupDatabase(struct AdbcDatabase* database, struct AdbcError* error) const override {
    CHECKED(AdbcDatabaseSetOption(database, "driver", std::getenv("ATSDB_ADBC"), error));
    CHECKED(AdbcDatabaseSetOption(database, "atsdb.durability", "off", error));
    CHECKED(AdbcDatabaseSetOption(database, "atsdb.dictionaries", "false", error));
    return AdbcDatabaseSetOption(database, "uri", "validation.db", error);
  }

  AdbcStatusCode Run(struct AdbcConnection* connection, const std::string& query, struct AdbcError* error) const {
    adbc_validation::Handle<struct AdbcStatement> statement;
    CHECKED(AdbcStatementNew(connection, &statement.value, error));
    CHECKED(AdbcStatementSetSqlQuery(&statement.value, query.c_str(), error));
    CHECKED(AdbcStatementExecuteQuery(&statement.value, nullptr, nullptr, error));
    return AdbcStatementRelease(&statement.value, error);
  }

  AdbcStatusCode DropTable(struct AdbcConnection* connection, const std::string& name,
                           struct AdbcError* error) const override {
    return Run(connection, "DROP TABLE IF EXISTS \"" + name + "\"", error);
  }

  AdbcStatusCode DropTable(struct AdbcConnection* connection, const std::string& name, const std::string& db_schema,
                           struct AdbcError* error) const override {
    return DropTable(connection, name, error);
  }

  AdbcStatusCode DropTempTable(struct AdbcConnection* connection, const std::string& name,
                               struct AdbcError* error) const override {
    return DropTable(connection, name, error);
  }

  AdbcStatusCode DropView(struct AdbcConnection* connection, const std::string& name,
                          struct AdbcError* error) const override {
    return Run(connection, "DROP VIEW IF EXISTS \"" + name + "\"", error);
  }

  std::string BindParameter(int index) const override { return "$" + std::to_string(index + 1); }

  ArrowType IngestSelectRoundTripType(ArrowType type) const override {
    switch (type) {
      case NANOARROW_TYPE_HALF_FLOAT:
        return NANOARROW_TYPE_FLOAT;
      case NANOARROW_TYPE_LARGE_STRING:
      case NANOARROW_TYPE_STRING_VIEW:
        return NANOARROW_TYPE_STRING;
      case NANOARROW_TYPE_LARGE_BINARY:
      case NANOARROW_TYPE_FIXED_SIZE_BINARY:
      case NANOARROW_TYPE_BINARY_VIEW:
        return NANOARROW_TYPE_BINARY;
      default:
        return type;
    }
  }

  std::optional<std::string> PrimaryKeyTableDdl(std::string_view name) const override {
    return "CREATE TABLE " + std::string(name) + " (id INTEGER PRIMARY KEY)";
  }

  std::optional<std::string> CompositePrimaryKeyTableDdl(std::string_view name) const override {
    return "CREATE TABLE " + std::string(name) +
           " (id_primary_col1 INTEGER, id_primary_col2 INTEGER, PRIMARY KEY (id_primary_col1, id_primary_col2))";
  }

  bool supports_bulk_ingest_catalog() const override { return true; }
  bool supports_bulk_ingest_db_schema() const override { return true; }
  bool supports_bulk_ingest_temporary() const override { return true; }
  bool supports_cancel() const override { return true; }
  bool supports_concurrent_statements() const override { return true; }
  bool supports_execute_schema() const override { return true; }
  bool supports_metadata_current_catalog() const override { return true; }
  bool supports_metadata_current_db_schema() const override { return true; }
  bool supports_statistics() const override { return true; }

  std::optional<adbc_validation::SqlInfoValue> supports_get_sql_info(uint32_t code) const override {
    switch (code) {
      case ADBC_INFO_DRIVER_NAME:
        return "ADBC driver for atsdb";
      case ADBC_INFO_VENDOR_NAME:
        return "atsdb";
      case ADBC_INFO_DRIVER_ADBC_VERSION:
        return ADBC_VERSION_1_1_0;
      default:
        return std::nullopt;
    }
  }

  std::string catalog() const override { return "atsdb"; }
  std::string db_schema() const override { return "public"; }
};

template <typename Base>
class Validation : public ::testing::Test, public Base {
 public:
  const adbc_validation::DriverQuirks* quirks() const override { return &quirks_; }
  void SetUp() override {
    std::filesystem::remove("validation.db");
    ASSERT_NO_FATAL_FAILURE(this->SetUpTest());
  }
  void TearDown() override { ASSERT_NO_FATAL_FAILURE(this->TearDownTest()); }

 protected:
  Quirks quirks_;
};

class AtsdbDatabase : public Validation<adbc_validation::DatabaseTest> {};
ADBCV_TEST_DATABASE(AtsdbDatabase)
class AtsdbConnection : public Validation<adbc_validation::ConnectionTest> {};
ADBCV_TEST_CONNECTION(AtsdbConnection)
class AtsdbStatement : public Validation<adbc_validation::StatementTest> {
 protected:
  void ValidateIngestedTemporalData(struct ArrowArrayView* values, ArrowType type, enum ArrowTimeUnit unit,
                                    const char* timezone) override {
    ASSERT_EQ(type, NANOARROW_TYPE_TIMESTAMP);
    ASSERT_TRUE(ArrowArrayViewIsNull(values, 0));
    ASSERT_EQ(ArrowArrayViewGetIntUnsafe(values, 1), -42);
    ASSERT_EQ(ArrowArrayViewGetIntUnsafe(values, 2), 0);
    ASSERT_EQ(ArrowArrayViewGetIntUnsafe(values, 3), 42);
  }
};
ADBCV_TEST_STATEMENT(AtsdbStatement)
