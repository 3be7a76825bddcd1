package atsdb

import (
	"errors"
	"strings"
	"testing"
)

func TestATableIsInTheSchemaThatItsNameBeginsWith(t *testing.T) {
	type level struct {
		Name  string
		Level int32
	}
	server := serve(t)
	ctx := soon(t)
	server.exec(`CREATE SCHEMA "Lab"`)
	send := func(table string) error {
		a, err := NewAppender[level](ctx, server.client(ClientOptions{}), table, Options{Table: TableOptions{Plain: true}})
		if err != nil {
			return err
		}
		return errors.Join(a.Append(ctx, level{"river", 7}), a.Close(ctx))
	}
	// The first one creates the table.
	if err := errors.Join(send("lab.levels"), send("LAB.Levels")); err != nil {
		t.Fatal(err)
	}
	if got := ask[int64](server, "SELECT count(*) FROM lab.levels WHERE name = 'river' AND level = 7"); got != 2 {
		t.Errorf("the table of the schema has %d rows", got)
	}
	// Without such a schema, the point is a part of the name.
	if err := send("pm2.5"); err != nil {
		t.Fatal(err)
	}
	if got := ask[int64](server, `SELECT count(*) FROM public."pm2.5"`); got != 1 {
		t.Errorf("the table with a point has %d rows", got)
	}
	// The columns of the table in the schema are compared, not those of its namesake in public.
	server.exec(`CREATE TABLE strict (name TEXT, level INT, owner TEXT NOT NULL DEFAULT 'nobody') WITH (time = 'none')`)
	server.exec(`CREATE TABLE lab.strict (name TEXT, level INT, owner TEXT NOT NULL) WITH (time = 'none')`)
	if err := send("strict"); err != nil {
		t.Error(err)
	}
	const want = "column owner of table lab.strict is NOT NULL and has no default"
	if err := send("lab.strict"); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
