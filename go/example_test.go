package atsdb_test

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"atsdb"
)

type Reading struct {
	Time   time.Time
	Sensor string `atsdb:"map:uint32"`
	Value  float64
}

func ExampleNewAppender() {
	ctx := context.Background()
	client, err := atsdb.NewClient("http://127.0.0.1:8086", atsdb.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	readings, err := atsdb.NewAppender[Reading](ctx, client, "readings", atsdb.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = readings.Append(ctx, Reading{time.Now(), "kitchen", 21.5})
	if err := errors.Join(err, readings.Close(ctx)); err != nil {
		log.Fatal(err)
	}
}

// Rows that must count once, even if the program is started again, get an id of the program's choice.
func ExampleAppender_Send() {
	ctx := context.Background()
	client, err := atsdb.NewClient("http://127.0.0.1:8086", atsdb.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	readings, err := atsdb.NewAppender[Reading](ctx, client, "readings", atsdb.Options{})
	if err != nil {
		log.Fatal(err)
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	done, err := readings.Send(ctx, "kitchen "+day.Format(time.DateOnly), []Reading{{day, "kitchen", 21.5}})
	if err := errors.Join(err, readings.Close(ctx)); err != nil {
		log.Fatal(err)
	}
	if done.Duplicate {
		log.Print("an earlier run has stored this day")
	}
}

// A refused batch is kept in a file, from which Client.AppendStream can send it again under its id.
func ExampleBatchError() {
	options := atsdb.Options{
		OnFailure: func(failed *atsdb.BatchError) {
			var refused *atsdb.Error
			if errors.As(failed, &refused) {
				log.Printf("the server refuses the rows: %s (%s)", refused.Message, refused.Kind)
			}
			if err := os.WriteFile(failed.ID+".arrows", failed.Stream, 0o600); err != nil {
				log.Print(err)
			}
		},
	}
	client, err := atsdb.NewClient("http://127.0.0.1:8086", atsdb.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	readings, err := atsdb.NewAppender[Reading](ctx, client, "readings", options)
	if err != nil {
		log.Fatal(err)
	}
	if err := readings.Close(ctx); err != nil {
		log.Fatal(err)
	}
}
