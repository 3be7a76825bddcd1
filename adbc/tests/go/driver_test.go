// The driver in Go's driver manager, which needs cgo. ATSDB_ADBC names the library.
package driver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/drivermgr"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func open(t *testing.T) adbc.Connection {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "air.db"))
}

func openStore(t *testing.T, path string) adbc.Connection {
	t.Helper()
	var driver drivermgr.Driver
	database, err := driver.NewDatabase(map[string]string{"driver": os.Getenv("ATSDB_ADBC"), "uri": path})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := database.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(); database.Close() })
	return connection
}

func statement(t *testing.T, connection adbc.Connection) adbc.Statement {
	t.Helper()
	statement, err := connection.NewStatement()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { statement.Close() })
	return statement
}

func update(t *testing.T, connection adbc.Connection, query string) int64 {
	t.Helper()
	of := statement(t, connection)
	if err := of.SetSqlQuery(query); err != nil {
		t.Fatal(err)
	}
	count, err := of.ExecuteUpdate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func ints(t *testing.T, of adbc.Statement) []int64 {
	t.Helper()
	reader, _, err := of.ExecuteQuery(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	var found []int64
	for reader.Next() {
		found = append(found, reader.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// failureOf is the error of ADBC that a call has returned.
func failureOf(t *testing.T, err error) adbc.Error {
	t.Helper()
	var failure adbc.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no error of ADBC", err)
	}
	return failure
}

// batch has one column of integers.
func batch(name string, values ...int64) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	builder.Field(0).(*array.Int64Builder).AppendValues(values, nil)
	return builder.NewRecordBatch()
}

func TestIngestAndAsk(t *testing.T) {
	connection := open(t)
	into := statement(t, connection)
	if err := into.SetOption(adbc.OptionKeyIngestTargetTable, "t"); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{adbc.OptionValueIngestModeCreate, adbc.OptionValueIngestModeAppend} {
		if err := into.SetOption(adbc.OptionKeyIngestMode, mode); err != nil {
			t.Fatal(err)
		}
		if err := into.Bind(context.Background(), batch("x", 3, 1, 2)); err != nil {
			t.Fatal(err)
		}
		if count, err := into.ExecuteUpdate(context.Background()); err != nil || count != 3 {
			t.Fatal(count, err)
		}
	}
	ask := statement(t, connection)
	if err := ask.SetSqlQuery("SELECT CAST(sum(x) AS BIGINT) FROM t WHERE x > $1"); err != nil {
		t.Fatal(err)
	}
	if err := ask.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	schema, err := ask.GetParameterSchema()
	if err != nil || schema.Field(0).Type.ID() != arrow.INT64 {
		t.Fatal(schema, err)
	}
	if err := ask.Bind(context.Background(), batch("x", 1)); err != nil {
		t.Fatal(err)
	}
	if found := ints(t, ask); len(found) != 1 || found[0] != 10 {
		t.Fatal(found)
	}
}

func TestTransactions(t *testing.T) {
	connection := open(t)
	update(t, connection, "CREATE TABLE t (x BIGINT)")
	options := connection.(adbc.PostInitOptions)
	if err := options.SetOption(adbc.OptionKeyAutoCommit, adbc.OptionValueDisabled); err != nil {
		t.Fatal(err)
	}
	if count := update(t, connection, "INSERT INTO t VALUES (1), (2)"); count != 2 {
		t.Fatal(count)
	}
	if err := connection.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	update(t, connection, "INSERT INTO t VALUES (3)")
	if err := connection.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	ask := statement(t, connection)
	if err := ask.SetSqlQuery("SELECT x FROM t"); err != nil {
		t.Fatal(err)
	}
	if found := ints(t, ask); len(found) != 1 || found[0] != 3 {
		t.Fatal(found)
	}
}

func TestErrorsAndSchemas(t *testing.T) {
	connection := open(t)
	update(t, connection, "CREATE TABLE t (time TIMESTAMP, x BIGINT PRIMARY KEY) WITH (time = 'time')")
	schema, err := connection.GetTableSchema(context.Background(), nil, nil, "t")
	if err != nil || schema.NumFields() != 2 || schema.Field(0).Type.ID() != arrow.TIMESTAMP {
		t.Fatal(schema, err)
	}
	_, err = connection.GetTableSchema(context.Background(), nil, nil, "none")
	if failure := failureOf(t, err); failure.Code != adbc.StatusNotFound || string(failure.SqlState[:]) != "42P01" {
		t.Fatal(err)
	}
	wrong := statement(t, connection)
	if err := wrong.SetSqlQuery("SELECT y FROM t"); err != nil {
		t.Fatal(err)
	}
	_, _, err = wrong.ExecuteQuery(context.Background())
	if failure := failureOf(t, err); failure.Code != adbc.StatusInvalidArgument {
		t.Fatal(err)
	}
	objects, err := connection.GetObjects(context.Background(), adbc.ObjectDepthAll, nil, nil, nil, nil, nil)
	if err != nil || !objects.Next() || objects.RecordBatch().NumRows() != 1 {
		t.Fatal(err)
	}
	objects.Release()
}
