package atsdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atsdb/internal/servertest"
)

type numbered struct {
	Time   time.Time
	Sensor string `atsdb:"map:uint32"`
	N      int64
}

func numberedRow(n int64) numbered {
	return numbered{time.Unix(1_700_000_000+n%100_000, 0), fmt.Sprint("sensor ", n%50), n}
}

func TestRowsCountOnceOverALossyConnection(t *testing.T) {
	server := serve(t)
	proxy := servertest.NewLossyProxy(t, server.HTTP)
	var retries atomic.Int64
	client := clientOf(t, proxy.Address(), ClientOptions{
		OnRetry: func(error, time.Duration) { retries.Add(1) },
	})
	ctx := soon(t)
	a, err := NewAppender[numbered](ctx, client, "readings", Options{BatchRows: 500, FlushTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	answers := []servertest.Cut{
		servertest.CutBefore, servertest.Forward, servertest.CutWithin, servertest.Forward, servertest.Forward,
	}
	proxy.Cut(
		func(n int) servertest.Cut { return answers[n%len(answers)] },
		func(n int) bool { return n%7 == 6 },
	)
	for n := int64(1); n <= 20_000; n++ {
		if err := a.Append(ctx, numberedRow(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	server.checkOnce("readings", 20_000)
	stats := a.Stats()
	if stats.Duplicates == 0 || stats.StoredRows != 20_000 || stats.Batches != 40 || proxy.CutCount() < 20 {
		t.Errorf("%+v after %d cuts", stats, proxy.CutCount())
	}
	t.Logf("%d cuts, %d retries, %d batches had been stored before their answer was lost",
		proxy.CutCount(), retries.Load(), stats.Duplicates)
}

func TestABusyServerIsWaitedFor(t *testing.T) {
	server := serve(t)
	target := &url.URL{Scheme: "http", Host: server.HTTP}
	var busy, appends atomic.Int64
	behind := &httputil.ReverseProxy{Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(target) }}
	front := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/api/append" && appends.Add(1) <= 2 {
			busy.Add(1)
			answer.Header().Set("Retry-After", "1")
			http.Error(answer, `{"kind": "busy", "message": "too many bytes are being written"}`, http.StatusServiceUnavailable)
			return
		}
		behind.ServeHTTP(answer, request)
	}))
	defer front.Close()
	var waits []time.Duration
	ctx := soon(t)
	client := clientOf(t, front.Listener.Addr().String(), ClientOptions{
		OnRetry: func(_ error, wait time.Duration) { waits = append(waits, wait) },
	})
	a, err := NewAppender[numbered](ctx, client, "readings", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= 100; n++ {
		if err := a.Append(ctx, numberedRow(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	server.checkOnce("readings", 100)
	if busy.Load() != 2 || len(waits) != 2 || waits[0] < time.Second || waits[1] < time.Second {
		t.Error(busy.Load(), waits)
	}
}

func TestAServerMayBeKilledInTheMiddle(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	var retries atomic.Int64
	client := server.client(ClientOptions{OnRetry: func(error, time.Duration) { retries.Add(1) }})
	a, err := NewAppender[numbered](ctx, client, "readings", Options{BatchRows: 200, FlushTime: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var next atomic.Int64
	var isOver atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for !isOver.Load() {
				n := next.Add(1)
				if err := a.Append(ctx, numberedRow(n)); err != nil {
					t.Error(err)
					return
				}
				if n%100 == 0 {
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	for range 3 {
		time.Sleep(200 * time.Millisecond)
		before, failures := a.Stats(), retries.Load()
		server.Kill()
		// Something is under way, and fails until the server is back.
		for retries.Load() == failures && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		server.Restart()
		if before.StoredRows > a.Stats().StoredRows {
			t.Error("rows are not stored any more")
		}
	}
	isOver.Store(true)
	all.Wait()
	if err := a.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	server.checkOnce("readings", next.Load())
	// Rows that a flush has acknowledged outlive the server.
	server.Kill()
	server.Restart()
	server.checkOnce("readings", next.Load())
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("%d retries, %+v", retries.Load(), a.Stats())
}

func TestABatchThatComesTwiceAtOnceCountsOnce(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	// Each append is sent three times at once, as by a client that gives up waiting and retries.
	front := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		copies := 1
		if request.URL.Path == "/api/append" {
			copies = 3
		}
		answers := make(chan []byte, copies)
		for range copies {
			go func() {
				target := "http://" + server.HTTP + request.URL.RequestURI()
				done, err := http.Post(target, request.Header.Get("Content-Type"), bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					answers <- nil
					return
				}
				defer done.Body.Close()
				text, err := io.ReadAll(done.Body)
				if err != nil || done.StatusCode != http.StatusOK {
					t.Errorf("%v %s: %s", err, done.Status, text)
				}
				answers <- text
			}()
		}
		duplicates := 0
		for range copies {
			text := <-answers
			if bytes.Contains(text, []byte(`"duplicate":true`)) {
				duplicates++
			} else {
				_, _ = answer.Write(text)
			}
		}
		if duplicates != copies-1 {
			t.Errorf("%d of %d copies were duplicates", duplicates, copies)
		}
	}))
	defer front.Close()
	a, err := NewAppender[numbered](ctx, clientOf(t, front.Listener.Addr().String(), ClientOptions{}), "readings",
		Options{BatchRows: 50})
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= 3000; n++ {
		if err := a.Append(ctx, numberedRow(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	server.checkOnce("readings", 3000)
}

func TestAppendersBeginAtOnce(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	var all sync.WaitGroup
	for part := range int64(4) {
		all.Go(func() {
			a, err := NewAppender[numbered](ctx, server.client(ClientOptions{}), "readings", Options{BatchRows: 300})
			if err != nil {
				t.Error(err)
				return
			}
			var both sync.WaitGroup
			for half := range int64(2) {
				both.Go(func() {
					for n := part*1000 + half*500 + 1; n <= part*1000+half*500+500; n++ {
						if err := a.Append(ctx, numberedRow(n)); err != nil {
							t.Error(err)
						}
					}
					if err := a.Flush(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			if err := a.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	server.checkOnce("readings", 4000)
}

func TestBatchesOfTheCallerOutliveTheServer(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	rows := []numbered{numberedRow(1), numberedRow(2), numberedRow(3)}
	for attempt := range 2 {
		a, err := NewAppender[numbered](ctx, server.client(ClientOptions{}), "readings", Options{})
		if err != nil {
			t.Fatal(err)
		}
		done, err := a.Send(ctx, "minute 1, Straße", rows)
		if err != nil || done.Duplicate != (attempt == 1) {
			t.Error(done, err)
		}
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
		server.Kill()
		server.Restart()
	}
	server.checkOnce("readings", 3)
}

func TestNobodyAtTheAddress(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	client := clientOf(t, "127.0.0.1:1", ClientOptions{})
	_, err := NewAppender[numbered](ctx, client, "readings", Options{})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "table readings") ||
		!strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
