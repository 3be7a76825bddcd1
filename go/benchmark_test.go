package atsdb

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"
)

// sinkhole accepts every batch immediately.
type sinkhole struct{ *fakeServer }

func (s sinkhole) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == "/api/sql" {
		return s.fakeServer.RoundTrip(request)
	}
	_, _ = io.Copy(io.Discard, request.Body)
	return answer(200, `{"rows": 0, "duplicate": true}`), nil
}

// BenchmarkAppend measures the cost of collecting and encoding a row, without a server.
func BenchmarkAppend(b *testing.B) {
	type reading struct {
		Time                                           time.Time
		Sensor                                         string `atsdb:"map:uint32"`
		Status                                         string `atsdb:"map:uint8"`
		Count1, Count2, Count3, Count4, Count5, Count6 int32
	}
	server := sinkhole{newFakeServer[reading](b)}
	client, err := NewClient("http://fake", ClientOptions{HTTP: &http.Client{Transport: server}})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	a, err := NewAppender[reading](ctx, client, "r", Options{})
	if err != nil {
		b.Fatal(err)
	}
	sensors := make([]string, 5000)
	for i := range sensors {
		sensors[i] = "sensor-" + time.Duration(i).String()
	}
	at := time.Unix(1_700_000_000, 0)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		row := reading{at.Add(time.Duration(n)), sensors[n%5000], "ok", 1, 2, 3, 4, 5, 6}
		if err := a.Append(ctx, row); err != nil {
			b.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		b.Fatal(err)
	}
}
