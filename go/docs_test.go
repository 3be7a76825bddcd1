package atsdb

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgtype"
)

// flat removes indentation.
func flat(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

func TestTheCodeOfTheDocumentsIsThatOfTheExample(t *testing.T) {
	example, err := os.ReadFile("examples/readings/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for page, count := range map[string]int{"../docs/go.md": 7, "README.md": 1} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```go\n")[1:]
		if len(blocks) != count {
			t.Errorf("%s has %d blocks of code", page, len(blocks))
		}
		for _, block := range blocks {
			code, _, _ := strings.Cut(block, "```")
			if !strings.Contains(flat(string(example)), flat(strings.TrimSpace(code))) {
				t.Errorf("%s: the example does not have\n%s", page, code)
			}
		}
	}
}

func TestThePageOfTypesNamesThoseOfGo(t *testing.T) {
	values := []any{false, int8(0), int16(0), int32(0), int64(0), int(0), time.Duration(0), uint8(0), uint16(0), uint32(0),
		uint64(0), uint(0), float32(0), float64(0), "", []byte(nil)}
	expected := map[string][]string{}
	declare := func(value reflect.Type, tag tag) {
		leaf, err := leafOf(value, tag)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(value.String(), "]uint8", "]byte")
		expected[leaf.sql] = append(expected[leaf.sql], name)
	}
	for _, value := range values {
		declare(reflect.TypeOf(value), tag{})
	}
	for _, unit := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond} {
		declare(timeType, tag{unit: unit, hasUnit: true})
	}
	declare(timeType, tag{isDate: true})
	twelve, err := parseDigits("12.2")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{"", pgtype.Numeric{}} {
		declare(reflect.TypeOf(value), tag{decimal: twelve})
	}
	declare(timeType, tag{isTimeOfDay: true})
	declare(reflect.TypeFor[pgtype.Time](), tag{})
	declare(durationType, tag{isInterval: true})
	declare(reflect.TypeFor[pgtype.Interval](), tag{})
	for _, value := range []any{"", [16]byte{}} {
		declare(reflect.TypeOf(value), tag{isUUID: true})
	}
	for _, value := range []any{"", []byte(nil)} {
		declare(reflect.TypeOf(value), tag{isJSON: true})
	}
	declare(reflect.TypeFor[[]string](), tag{})
	// It stands for an enumerated type, which no struct declares: a string fits a column of it.
	expected["mood"] = []string{"string"}

	text, err := os.ReadFile("../docs/reference/types.md")
	if err != nil {
		t.Fatal(err)
	}
	const sqlColumn, goColumn = 1, 5
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 9 || !strings.HasPrefix(cells[sqlColumn], " `") {
			continue
		}
		rows++
		sql := strings.Trim(cells[sqlColumn], " `")
		if sql == "TIMESTAMP" {
			sql = "TIMESTAMP(6)"
		}
		names := strings.Split(strings.ReplaceAll(strings.TrimSpace(cells[goColumn]), "`", ""), ", ")
		slices.Sort(names)
		slices.Sort(expected[sql])
		if !slices.Equal(names, expected[sql]) {
			t.Errorf("%s: the page has %v, the package %v", sql, names, expected[sql])
		}
	}
	if rows != len(expected) {
		t.Errorf("the page has %d types, the package %d", rows, len(expected))
	}
}
