// pgx: prepared statements in binary, a batch, CopyFrom, the simple protocol, and results as Grafana reads them.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, os.Args[1])
	check(err)
	defer connection.Close(ctx)
	check(connection.Ping(ctx))
	var at time.Time
	var sensor string
	var value *float64
	var count int64
	query := "SELECT time, sensor, value, count FROM readings WHERE count = $1"
	check(connection.QueryRow(ctx, query, 3).Scan(&at, &sensor, &value, &count))
	if !at.Equal(time.Date(2024, 1, 1, 0, 2, 0, 0, time.UTC)) || sensor != "s1" || value != nil || count != 3 {
		panic(fmt.Sprint(at, sensor, value, count))
	}
	var found int
	check(connection.QueryRow(ctx, "SELECT count(*) FROM readings WHERE sensor = ANY($1)", []string{"s1", "s9"}).Scan(&found))
	if found != 2 {
		panic(found)
	}
	tag, err := connection.Exec(ctx, "INSERT INTO sensors VALUES ($1, $2, $3)", 10, "7", nil)
	check(err)
	if tag.String() != "INSERT 0 1" {
		panic(tag.String())
	}
	rows := make([][]any, 1000)
	for i := range rows {
		rows[i] = []any{int32(1000 + i), fmt.Sprint("copied ", i), float32(0.5)}
	}
	copied, err := connection.CopyFrom(ctx, pgx.Identifier{"sensors"}, []string{"id", "name", "height"}, pgx.CopyFromRows(rows))
	check(err)
	if copied != 1000 {
		panic(copied)
	}
	batch := &pgx.Batch{}
	batch.Queue("SELECT count(*) FROM sensors")
	batch.Queue("INSERT INTO sensors VALUES (1, 'again', NULL)")
	results := connection.SendBatch(ctx, batch)
	check(results.QueryRow().Scan(&found))
	if _, err := results.Exec(); err == nil || found != 1003 {
		panic(fmt.Sprint(found, err))
	}
	results.Close()
	chart := "SELECT floor(extract(epoch FROM time) / 120) * 120 AS time, sum(count) AS value FROM readings WHERE time BETWEEN " +
		"'2024-01-01T00:00:00Z' AND '2024-01-01T00:10:00Z' GROUP BY 1 ORDER BY 1; SELECT 1"
	answers, err := connection.PgConn().Exec(ctx, chart).ReadAll()
	check(err)
	shown := ""
	for _, answer := range answers {
		for _, row := range answer.Rows {
			for _, cell := range row {
				shown += string(cell) + " "
			}
		}
	}
	if shown != "1704067200 3 1704067320 3 1 " {
		panic(shown)
	}
	config := connection.Config().Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	simple, err := pgx.ConnectConfig(ctx, config)
	check(err)
	defer simple.Close(ctx)
	check(simple.QueryRow(ctx, "SELECT name FROM sensors WHERE id = $1", 10).Scan(&sensor))
	if sensor != "7" {
		panic(sensor)
	}
	fmt.Println("done")
}
