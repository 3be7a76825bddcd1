// Readings appends readings of sensors to a server and asks for them, as docs/go.md describes.
//
//	atsdb serve air.db &
//	go run ./examples/readings
//
// The two tables are those that the lab measures as the workload series: time, sensor and status, and the same with six
// counters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"atsdb"

	"github.com/jackc/pgx/v5"
)

// Reading is one measurement of a sensor.
type Reading struct {
	Time   time.Time `atsdb:"unit:s"`
	Sensor string    `atsdb:"map:uint32"`
	Status string    `atsdb:"map:uint8"`
}

// CounterReading has six counters as well, of which the last may be missing.
type CounterReading struct {
	Reading
	Count1, Count2, Count3, Count4, Count5 int32
	Count6                                 *int32
}

func main() {
	http := flag.String("http", "http://127.0.0.1:8086", "the server's address for rows")
	pg := flag.String("pg", "postgresql://127.0.0.1:5433/air?sslmode=disable", "the server's address for queries")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *http, *pg, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

var begin = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

func run(ctx context.Context, address, pg string, out io.Writer) error {
	client, err := atsdb.NewClient(address, atsdb.ClientOptions{
		OnRetry: func(err error, wait time.Duration) { log.Printf("again in %s: %v", wait, err) },
	})
	if err != nil {
		return err
	}
	return errors.Join(appendReadings(ctx, client), appendCounters(ctx, client), ask(ctx, pg, out))
}

func appendReadings(ctx context.Context, client *atsdb.Client) error {
	readings, err := atsdb.NewAppender[Reading](ctx, client, "readings", atsdb.Options{
		Table: atsdb.TableOptions{Slice: "month", Key: "sensor", Retention: "200 years"},
	})
	if err != nil {
		return err
	}
	for minute := range 60 {
		at := begin.Add(time.Duration(minute) * time.Minute)
		for _, sensor := range []string{"kitchen", "roof", "cellar"} {
			if err := readings.Append(ctx, Reading{at, sensor, "ok"}); err != nil {
				return errors.Join(err, readings.Close(ctx))
			}
		}
	}
	return readings.Close(ctx) // All rows are durable.
}

func appendCounters(ctx context.Context, client *atsdb.Client) error {
	counters, err := atsdb.NewAppender[CounterReading](ctx, client, "counters", atsdb.Options{})
	if err != nil {
		return err
	}
	six := int32(6)
	rows := []CounterReading{
		{Reading{begin, "kitchen", "ok"}, 1, 2, 3, 4, 5, &six},
		{Reading{begin, "roof", "late"}, 1, 2, 3, 4, 5, nil},
	}
	// The program chooses the id: if it is started again, the rows are still stored once.
	done, err := counters.Send(ctx, "minute "+begin.Format(time.RFC3339), rows)
	if done.Duplicate {
		log.Print("these counters were stored before")
	}
	return errors.Join(err, counters.Close(ctx))
}

func ask(ctx context.Context, pg string, out io.Writer) error {
	connection, err := pgx.Connect(ctx, pg)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	var count int64
	err = connection.QueryRow(ctx, "SELECT count(*) FROM readings WHERE sensor = $1", "roof").Scan(&count)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, count, "readings of the roof")

	rows, err := connection.Query(ctx, "SELECT * FROM counters WHERE time >= $1 ORDER BY sensor", begin)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[CounterReading])
	if err != nil {
		return err
	}
	for _, row := range found {
		fmt.Fprintln(out, row.Time.UTC().Format(time.TimeOnly), row.Sensor, row.Status, row.Count1, row.Count6 == nil)
	}
	return nil
}
