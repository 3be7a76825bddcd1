package atsdb

import (
	"os"
	"strings"
	"testing"
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
