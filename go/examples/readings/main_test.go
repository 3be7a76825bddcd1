package main

import (
	"strings"
	"testing"

	"atsdb/internal/servertest"
)

func TestTheExampleRunsAndRunsAgain(t *testing.T) {
	server := servertest.Start(t)
	pg := "postgresql://" + server.PG + "/air?sslmode=disable"
	for _, want := range []string{"60 readings", "120 readings"} {
		var out strings.Builder
		if err := run(t.Context(), "http://"+server.HTTP, pg, &out); err != nil {
			t.Fatal(err)
		}
		if want += " of the roof\n00:00:00 kitchen ok 1 false\n00:00:00 roof late 1 true\n"; out.String() != want {
			t.Errorf("%q, wanted %q", out.String(), want)
		}
	}
}
