package atsdb

import (
	"context"
	"testing"
	"time"

	"atsdb/internal/servertest"

	"github.com/jackc/pgx/v5"
)

// served is a real server with clients.
type served struct {
	*servertest.Server
	t *testing.T
}

func serve(t *testing.T) *served {
	t.Helper()
	return &served{servertest.Start(t), t}
}

func (s *served) client(options ClientOptions) *Client { return clientOf(s.t, s.HTTP, options) }

func clientOf(t *testing.T, address string, options ClientOptions) *Client {
	t.Helper()
	client, err := NewClient("http://"+address, options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// connect opens a connection of pgx.
func (s *served) connect() *pgx.Conn {
	s.t.Helper()
	connection, err := pgx.Connect(context.Background(), "postgresql://"+s.PG+"/any?sslmode=disable")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

func (s *served) exec(sql string) {
	s.t.Helper()
	if _, err := s.connect().Exec(context.Background(), sql); err != nil {
		s.t.Fatal(err)
	}
}

// ask returns the answer to a query with one row and one column.
func ask[V any](s *served, sql string, parameters ...any) V {
	s.t.Helper()
	var value V
	if err := s.connect().QueryRow(context.Background(), sql, parameters...).Scan(&value); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// checkOnce checks that the table has the rows 1 to count, each once.
func (s *served) checkOnce(table string, count int64) {
	s.t.Helper()
	rows, distinct := ask[int64](s, "SELECT count(*) FROM "+table), ask[int64](s, "SELECT count(DISTINCT n) FROM "+table)
	first, last := ask[int64](s, "SELECT min(n) FROM "+table), ask[int64](s, "SELECT max(n) FROM "+table)
	if rows != count || distinct != count || first != 1 || last != count {
		s.t.Errorf("table %s has %d rows, %d of them different, from %d to %d; wanted were 1 to %d",
			table, rows, distinct, first, last, count)
	}
}

// soon returns a context for work that ends, also on a busy machine.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
