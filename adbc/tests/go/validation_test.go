// ADBC's own validation suite for Go, which comes with its module.
package driver

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/drivermgr"
	"github.com/apache/arrow-adbc/go/adbc/validation"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/suite"
)

// What is left out, and why: docs/adbc.md lists the same.
var leftOut = []string{
	// Without asking the driver, the driver manager of Go returns a pointer to an error, where the suite expects an error.
	"TestValidation/TestSqlPartitionedInts",
	// The suite expects ODBC's 42S02; the SQLSTATEs of atsdb are PostgreSQL's, here 42P01.
	"TestValidation/TestSqlIngestErrors/append_to_nonexistent_table",
	// The suite expects the rows of two batches in one.
	"TestValidation/TestSqlIngestCreateAppend",
}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.skip", strings.Join(leftOut, "|")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestValidation(t *testing.T) {
	quirks := &quirks{}
	for _, tests := range []suite.TestingSuite{
		&validation.DatabaseTests{Quirks: quirks},
		&validation.ConnectionTests{Quirks: quirks},
		&validation.StatementTests{Quirks: quirks},
	} {
		suite.Run(t, tests)
	}
}

// quirks says what the driver has, of what the suite asks.
type quirks struct {
	store string
}

func (q *quirks) SetupDriver(t *testing.T) adbc.Driver {
	q.store = filepath.Join(t.TempDir(), "air.db")
	return driver{}
}

func (q *quirks) TearDownDriver(*testing.T, adbc.Driver) {}

func (q *quirks) DatabaseOptions() map[string]string {
	return map[string]string{"driver": os.Getenv("ATSDB_ADBC"), "uri": q.store}
}

func (q *quirks) BindParameter(index int) string        { return "$" + string(rune('1'+index)) }
func (q *quirks) SupportsBulkIngest(string) bool        { return true }
func (q *quirks) SupportsConcurrentStatements() bool    { return true }
func (q *quirks) SupportsCurrentCatalogSchema() bool    { return true }
func (q *quirks) SupportsTransactions() bool            { return true }
func (q *quirks) SupportsGetParameterSchema() bool      { return true }
func (q *quirks) SupportsDynamicParameterBinding() bool { return true }
func (q *quirks) SupportsPartitionedData() bool         { return false }
func (q *quirks) Catalog() string                       { return "atsdb" }
func (q *quirks) DBSchema() string                      { return "public" }
func (q *quirks) Alloc() memory.Allocator               { return memory.DefaultAllocator }

// The driver has these, and the driver manager of Go passes none of them on.
func (q *quirks) SupportsGetSetOptions() bool { return false }
func (q *quirks) SupportsExecuteSchema() bool { return false }
func (q *quirks) SupportsStatistics() bool    { return false }

// The suite expects an internal error where the header of ADBC asks for ALREADY_EXISTS: see TestIngestIntoWhatIsThere.
func (q *quirks) SupportsErrorIngestIncompatibleSchema() bool { return false }

func (q *quirks) GetMetadata(code adbc.InfoCode) interface{} {
	switch code {
	case adbc.InfoDriverName:
		return "ADBC driver for atsdb"
	case adbc.InfoVendorName:
		return "atsdb"
	case adbc.InfoDriverVersion, adbc.InfoVendorVersion:
		return found("../../../Cargo.toml", `(?m)^version = "(.*)"`)
	case adbc.InfoDriverArrowVersion, adbc.InfoVendorArrowVersion:
		return found("../../../Cargo.lock", `name = "arrow"\nversion = "(.*)"`)
	case adbc.InfoDriverADBCVersion:
		return adbc.AdbcVersion1_1_0
	}
	return nil
}

// found is what the first group of a pattern matches in a file.
func found(path, pattern string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return string(regexp.MustCompile(pattern).FindSubmatch(text)[1])
}

// driver is the driver manager, whose answers about objects outlive their reader: the suite reads names of columns from
// memory that the driver has taken back.
type driver struct{ drivermgr.Driver }

type database struct{ adbc.Database }

type connection struct {
	adbc.Connection
	adbc.PostInitOptions
}

func (d driver) NewDatabase(options map[string]string) (adbc.Database, error) {
	opened, err := d.Driver.NewDatabase(options)
	return database{opened}, err
}

func (d database) Open(ctx context.Context) (adbc.Connection, error) {
	opened, err := d.Database.Open(ctx)
	if err != nil {
		return nil, err
	}
	return connection{opened, opened.(adbc.PostInitOptions)}, nil
}

func (c connection) GetObjects(ctx context.Context, depth adbc.ObjectDepth, catalog, schema, table, column *string,
	types []string) (array.RecordReader, error) {
	found, err := c.Connection.GetObjects(ctx, depth, catalog, schema, table, column, types)
	if err != nil {
		return nil, err
	}
	defer found.Release()
	var copied bytes.Buffer
	writer := ipc.NewWriter(&copied, ipc.WithSchema(found.Schema()))
	for found.Next() {
		if err := writer.Write(found.RecordBatch()); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(found.Err(), writer.Close()); err != nil {
		return nil, err
	}
	return ipc.NewReader(&copied)
}

func (q *quirks) CreateSampleTable(name string, rows arrow.RecordBatch) error {
	ctx := context.Background()
	database, err := drivermgr.Driver{}.NewDatabase(q.DatabaseOptions())
	if err != nil {
		return err
	}
	defer database.Close()
	connection, err := database.Open(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	into, err := connection.NewStatement()
	if err != nil {
		return err
	}
	defer into.Close()
	if err := into.SetOption(adbc.OptionKeyIngestTargetTable, name); err != nil {
		return err
	}
	if err := into.Bind(ctx, rows); err != nil {
		return err
	}
	_, err = into.ExecuteUpdate(ctx)
	return err
}

func (q *quirks) SampleTableSchemaMetadata(string, arrow.DataType) arrow.Metadata {
	return arrow.Metadata{}
}

func (q *quirks) DropTable(connection adbc.Connection, name string) error {
	of, err := connection.NewStatement()
	if err != nil {
		return err
	}
	defer of.Close()
	if err := of.SetSqlQuery(`DROP TABLE IF EXISTS "` + name + `"`); err != nil {
		return err
	}
	_, err = of.ExecuteUpdate(context.Background())
	return err
}

// What the suite would test with SupportsErrorIngestIncompatibleSchema, with the status of ADBC's header.
func TestIngestIntoWhatIsThere(t *testing.T) {
	connection := open(t)
	into := statement(t, connection)
	ingest := func(mode string, rows arrow.RecordBatch) error {
		for key, value := range map[string]string{adbc.OptionKeyIngestTargetTable: "t", adbc.OptionKeyIngestMode: mode} {
			if err := into.SetOption(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := into.Bind(context.Background(), rows); err != nil {
			t.Fatal(err)
		}
		_, err := into.ExecuteUpdate(context.Background())
		return err
	}
	if err := ingest(adbc.OptionValueIngestModeCreate, batch("x", 1)); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []struct {
		mode, column string
		status       adbc.Status
	}{
		{adbc.OptionValueIngestModeCreate, "x", adbc.StatusAlreadyExists},
		{adbc.OptionValueIngestModeAppend, "y", adbc.StatusAlreadyExists},
	} {
		if failure := failureOf(t, ingest(refused.mode, batch(refused.column, 2))); failure.Code != refused.status {
			t.Errorf("%s of column %s: %v", refused.mode, refused.column, failure)
		}
	}
}
