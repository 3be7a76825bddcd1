package atsdb

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestStringsFitColumnsOfEnumeratedTypes(t *testing.T) {
	type row struct {
		Time  time.Time
		Feels string
		Was   *string
	}
	server := serve(t)
	ctx := soon(t)
	server.exec("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
	server.exec("CREATE TABLE people (time TIMESTAMP(9), feels mood NOT NULL, was mood) WITH (time = 'time')")
	send := func(rows ...row) error {
		a, err := NewAppender[row](ctx, server.client(ClientOptions{}), "people", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range rows {
			err = errors.Join(err, a.Append(ctx, each))
		}
		return errors.Join(err, a.Close(ctx))
	}
	ok := "ok"
	if err := send(row{utc(1, 0), "happy", &ok}, row{utc(2, 0), "sad", nil}); err != nil {
		t.Fatal(err)
	}
	if err := send(row{utc(3, 0), "good", nil}); err == nil || !strings.Contains(err.Error(), "good") {
		t.Error(err)
	}
	rows, err := server.connect().Query(ctx, "SELECT * FROM people ORDER BY feels DESC")
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].Feels != "happy" || *found[0].Was != "ok" || found[1].Feels != "sad" || found[1].Was != nil {
		t.Error(found)
	}
}
