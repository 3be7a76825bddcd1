package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../../docs/adbc.md"

// block is the only block of a language on the page.
func block(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 1 {
		t.Fatalf("%s has %d blocks of %s", page, len(blocks), language)
	}
	return blocks[0][1]
}

// folder is one in which the page's example finds what it names: the driver, and a store with readings.
func folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	release := filepath.Join(folder, "target", "release")
	if err := os.MkdirAll(release, 0o777); err != nil {
		t.Fatal(err)
	}
	driver, err := filepath.Abs(os.Getenv("ATSDB_ADBC"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(driver, filepath.Join(release, "libadbc_driver_atsdb.so")); err != nil {
		t.Fatal(err)
	}
	connection := openStore(t, filepath.Join(folder, "air.db"))
	update(t, connection, "CREATE TABLE readings (sensor TEXT, pm10 DOUBLE)")
	update(t, connection, "INSERT INTO readings VALUES ('kitchen', 14.5), ('garden', 3.25)")
	return folder
}

// run runs a program in a folder and returns what it prints.
func run(t *testing.T, folder, program string, arguments ...string) string {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestThePageInGo(t *testing.T) {
	folder := folder(t)
	source, program := filepath.Join(folder, "main.go"), filepath.Join(folder, "main")
	imports := []string{"context", "fmt", "github.com/apache/arrow-adbc/go/adbc/drivermgr"}
	// The example does not look at its errors.
	write(t, source, fmt.Sprintf("package main\n\nimport (\n\"%s\"\n)\n\nfunc main() {\n%s_ = err\n}\n",
		strings.Join(imports, "\"\n\""), block(t, "go")))
	run(t, ".", "go", "build", "-o", program, source)
	output := run(t, folder, program)
	for _, part := range []string{"kitchen", "garden", "14.5", "3.25"} {
		if !strings.Contains(output, part) {
			t.Errorf("%s is not in %s", part, output)
		}
	}
}

func TestThePageInC(t *testing.T) {
	for _, compiler := range []string{"gcc", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Skip(compiler + " is missing: apt-get install g++")
		}
	}
	folder := folder(t)
	module := strings.TrimSpace(run(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/apache/arrow-adbc/go/adbc"))
	manager := filepath.Join(module, "drivermgr")
	example := block(t, "c")
	include, statements, _ := strings.Cut(example, "\n")
	// The example ends with the rows as a stream.
	write(t, filepath.Join(folder, "main.c"), include+`
#include <stdio.h>

int main(void) {
`+statements+`
	struct ArrowSchema schema;
	if (error.message != NULL || rows.get_schema(&rows, &schema) != 0) {
		fprintf(stderr, "%s\n", error.message == NULL ? "no schema" : error.message);
		return 1;
	}
	long count = 0;
	for (struct ArrowArray batch; rows.get_next(&rows, &batch) == 0 && batch.release != NULL; batch.release(&batch)) {
		count += batch.length;
	}
	printf("%s, %s: %ld rows\n", schema.children[0]->name, schema.children[1]->name, count);
	schema.release(&schema);
	rows.release(&rows);
	AdbcStatementRelease(&statement, &error);
	AdbcConnectionRelease(&connection, &error);
	AdbcDatabaseRelease(&database, &error);
	return 0;
}
`)
	// The driver manager in C++ is a part of the one in Go.
	sources, err := filepath.Glob(filepath.Join(manager, "*.cc"))
	if err != nil || len(sources) == 0 {
		t.Fatal("the driver manager is not in ", manager, err)
	}
	run(t, folder, "gcc", "-Wall", "-Werror", "-I"+manager, "-c", "main.c", "-o", "main.o")
	link := append([]string{"-std=c++17", "-I" + manager, "-I" + filepath.Join(manager, "vendored"), "main.o"}, sources...)
	run(t, folder, "g++", append(link, "-ldl", "-o", "main")...)
	if output := run(t, folder, "./main"); output != "sensor, pm10: 2 rows\n" {
		t.Error(output)
	}
}
