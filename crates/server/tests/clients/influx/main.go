// InfluxDB's client for Go: points in batches and at once, health, errors.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	"github.com/influxdata/influxdb-client-go/v2/api/http"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	options := influxdb2.DefaultOptions().SetBatchSize(100).SetUseGZip(true).SetPrecision(time.Millisecond)
	client := influxdb2.NewClientWithOptions("http://"+os.Args[1], "any", options)
	defer client.Close()
	if pinged, err := client.Ping(ctx); err != nil || !pinged {
		panic(fmt.Sprint(pinged, err))
	}
	health, err := client.Health(ctx)
	check(err)
	if health.Name != "atsdb" || health.Status != "pass" {
		panic(fmt.Sprint(health))
	}
	ready, err := client.Ready(ctx)
	check(err)
	if *ready.Status != "ready" || ready.Started.After(time.Now()) {
		panic(fmt.Sprint(ready))
	}

	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	batched := client.WriteAPI("house", "air")
	failures := batched.Errors()
	for i := range 250 {
		tags := map[string]string{"host": fmt.Sprint("h ", i%5)}
		fields := map[string]interface{}{"v": float64(i), "n": i, "u": uint64(1) << 63, "up": true, "note": `a "b"`}
		batched.WritePoint(influxdb2.NewPoint("go", tags, fields, at.Add(time.Duration(i)*time.Millisecond)))
	}
	batched.Flush()
	select {
	case err := <-failures:
		panic(err)
	default:
	}
	blocking := client.WriteAPIBlocking("house", "air")
	check(blocking.WriteRecord(ctx, "go,host=alone v=1 1704067200000"))
	err = blocking.WriteRecord(ctx, `go,host=alone v="text"`)
	var refused *http.Error
	if !errors.As(err, &refused) || refused.StatusCode != 400 || !strings.Contains(refused.Message, "field type conflict") {
		panic(fmt.Sprint(err))
	}
	fmt.Println("done")
}
