package atsdb

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

func newSmallLayout(t *testing.T) *layout {
	t.Helper()
	return newLayout[small](t)
}

func newLayout[T any](t *testing.T) *layout {
	t.Helper()
	found, err := layoutOf(reflect.TypeFor[T](), false)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func row(n int) small { return small{time.Unix(int64(n), 0), int64(n)} }

// open makes an appender that is closed at the end, and checks that none of its goroutines is left.
func open(t *testing.T, server *fakeServer, options Options, client ClientOptions) *Appender[small] {
	t.Helper()
	a, err := NewAppender[small](t.Context(), server.client(client), "r", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.Close(ended)
	})
	return a
}

func appendRows(t *testing.T, a *Appender[small], count int) {
	t.Helper()
	for n := range count {
		if err := a.Append(t.Context(), row(n+1)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBatchesAreSentWhenTheyAreFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		a := open(t, server, Options{BatchRows: 10, FlushTime: -1}, ClientOptions{})
		appendRows(t, a, 25)
		time.Sleep(time.Hour)
		if got := server.batches(); !reflect.DeepEqual(got, []int64{10, 10}) {
			t.Error(got)
		}
		if err := a.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{10, 10, 5}) {
			t.Error(got)
		}
		if got := a.Stats(); got != (Stats{Rows: 25, StoredRows: 25, Batches: 3}) {
			t.Errorf("%+v", got)
		}
		if err := a.Flush(t.Context()); err != nil || server.requestCount() != 3 {
			t.Error("nothing to flush:", err, server.requestCount())
		}
	})
}

func TestBatchesHaveAtMostTheirBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		a := open(t, server, Options{BatchBytes: 100, FlushTime: -1}, ClientOptions{})
		appendRows(t, a, 12) // of 18 bytes each
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{5, 5, 2}) {
			t.Error(got)
		}
	})
}

func TestRowsAreSentAfterTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		a := open(t, server, Options{FlushTime: 10 * time.Second}, ClientOptions{})
		for range 3 {
			appendRows(t, a, 2)
			time.Sleep(9 * time.Second)
			appendRows(t, a, 1)
			synctest.Wait()
			before := server.requestCount()
			time.Sleep(1500 * time.Millisecond)
			if server.requestCount() != before+1 {
				t.Error(before, server.requestCount())
			}
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{3, 3, 3}) {
			t.Error(got)
		}
	})
}

func TestABatchGrowsWhileAnEarlierOneIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		release := server.stall()
		a := open(t, server, Options{FlushTime: time.Second}, ClientOptions{})
		for range 20 {
			appendRows(t, a, 1)
			time.Sleep(2 * time.Second)
		}
		release()
		synctest.Wait()
		time.Sleep(time.Second)
		if got := server.batches(); !reflect.DeepEqual(got, []int64{1, 19}) {
			t.Error(got)
		}
	})
}

func TestAppendWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		release := server.stall()
		a := open(t, server, Options{BatchBytes: 180, MemoryBytes: 540, FlushTime: -1}, ClientOptions{})
		appendRows(t, a, 30)
		if got := a.Stats(); got.WaitingBytes != 540 {
			t.Error(got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := a.Append(ctx, row(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("a row too many was taken:", err)
		}
		taken := make(chan error)
		go func() { taken <- a.Append(t.Context(), row(31)) }()
		synctest.Wait()
		release()
		if err := <-taken; err != nil {
			t.Error(err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := a.Stats(); got.StoredRows != 31 || got.WaitingBytes != 0 {
			t.Error(got)
		}
	})
}

func TestFlushWaitsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		release := server.stall()
		a := open(t, server, Options{}, ClientOptions{})
		appendRows(t, a, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		release()
		synctest.Wait()
		if got := server.batches(); !reflect.DeepEqual(got, []int64{3}) {
			t.Error("what was not flushed in time is sent nevertheless:", got)
		}
	})
}

func TestARefusedBatchStopsTheAppender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		appended := make(chan struct{})
		server.before = func(count int, _ *http.Request) (*http.Response, error) {
			<-appended
			if count == 1 {
				return answer(422, `{"kind": "limit", "message": "the dictionary is full"}`), nil
			}
			return nil, nil
		}
		a := open(t, server, Options{BatchRows: 2, FlushTime: -1}, ClientOptions{})
		appendRows(t, a, 6)
		close(appended)
		err := a.Flush(t.Context())
		var failed *BatchError
		var refused *Error
		if !errors.As(err, &failed) || !errors.As(err, &refused) || refused.Kind != "limit" {
			t.Fatal(err)
		}
		if failed.Rows != 2 || failed.Table != "r" || !strings.HasSuffix(failed.ID, "-2") ||
			decode(t, failed.Stream).NumRows() != 2 {
			t.Errorf("%+v", failed)
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{2, 2}) {
			t.Error("the batches before and after it are stored:", got)
		}
		if err := a.Append(t.Context(), row(9)); !errors.As(err, &failed) {
			t.Error(err)
		}
		if err := a.Close(t.Context()); !errors.As(err, &failed) {
			t.Error(err)
		}
		if got := a.Stats(); got.FailedRows != 2 || got.StoredRows != 4 || got.Rows != 6 {
			t.Errorf("%+v", got)
		}
		// A failed batch can be sent again by the caller.
		done, err := server.client(ClientOptions{}).AppendStream(t.Context(), failed.Table, failed.ID, failed.Stream)
		if err != nil || done.Rows != 2 || done.Duplicate {
			t.Error(done, err)
		}
	})
}

func TestRefusedBatchesAreHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		server.before = func(count int, _ *http.Request) (*http.Response, error) {
			if count < 2 {
				return answer(400, `no`), nil
			}
			return nil, nil
		}
		var failed []int
		a := open(t, server, Options{
			BatchRows: 2, FlushTime: -1, OnFailure: func(err *BatchError) { failed = append(failed, err.Rows) },
		}, ClientOptions{})
		appendRows(t, a, 7)
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{2, 1}) || !reflect.DeepEqual(failed, []int{2, 2}) {
			t.Error(got, failed)
		}
	})
}

func TestCloseSendsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		a := open(t, server, Options{}, ClientOptions{})
		appendRows(t, a, 3)
		if err := errors.Join(a.Close(t.Context()), a.Close(t.Context())); err != nil {
			t.Error(err)
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{3}) {
			t.Error(got)
		}
		if err := a.Append(t.Context(), row(1)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := a.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		server.stall()
		failed := map[string]int{}
		a := open(t, server, Options{
			BatchRows: 2, OnFailure: func(err *BatchError) { failed[err.ID] = err.Rows },
		}, ClientOptions{})
		appendRows(t, a, 5)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := a.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "5 rows for table r are not known") {
			t.Error(err)
		}
		if len(failed) != 3 {
			t.Error("handed over:", failed)
		}
	})
}

func TestCloseCountsOnlyTheRowsThatItGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		server.before = func(count int, request *http.Request) (*http.Response, error) {
			if count == 0 {
				return answer(400, `no`), nil
			}
			// The server answers although the request is cancelled.
			<-request.Context().Done()
			return nil, nil
		}
		refused := 0
		a := open(t, server, Options{
			BatchRows: 2, FlushTime: -1, OnFailure: func(err *BatchError) { refused += err.Rows },
		}, ClientOptions{})
		appendRows(t, a, 4)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := a.Close(ctx); err != nil || refused != 2 {
			t.Error(err, refused)
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{2}) {
			t.Error(got)
		}
	})
}

func TestEachBatchThatIsRefusedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		appended := make(chan struct{})
		server.before = func(count int, _ *http.Request) (*http.Response, error) {
			<-appended
			if count != 1 {
				return answer(422, `{"kind": "limit", "message": "the dictionary is full"}`), nil
			}
			return nil, nil
		}
		a := open(t, server, Options{BatchRows: 2, FlushTime: -1}, ClientOptions{})
		appendRows(t, a, 6)
		close(appended)
		err := a.Close(t.Context())
		var failed *BatchError
		if !errors.As(err, &failed) || !strings.HasSuffix(failed.ID, "-1") {
			t.Fatal(err)
		}
		for _, id := range []string{"-1)", "-3)"} {
			if !strings.Contains(err.Error(), id) {
				t.Errorf("no batch %s in %v", id, err)
			}
		}
		if got := server.batches(); !reflect.DeepEqual(got, []int64{2}) {
			t.Error(got)
		}
	})
}

func TestGoroutinesAppendAtOnce(t *testing.T) {
	server := newFakeServer[small](t)
	server.after = func(count int, _ *http.Request) (*http.Response, error) {
		if count%3 == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, nil
	}
	a := open(t, server, Options{BatchRows: 100, BatchBytes: 4000, MemoryBytes: 8000}, ClientOptions{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 500 {
				if err := a.Append(t.Context(), row(n+1)); err != nil {
					t.Error(err)
					return
				}
				if n%100 == 99 {
					if err := a.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if used := a.Stats().WaitingBytes; used > 8000 {
					t.Error("waiting bytes", used)
				}
			}
		})
	}
	all.Wait()
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	total := int64(0)
	for _, rows := range server.batches() {
		total += rows
	}
	if stats := a.Stats(); total != 4000 || stats.StoredRows != 4000 || stats.Duplicates == 0 {
		t.Error(total, stats)
	}
}

func TestRowsWithoutATime(t *testing.T) {
	type reading struct{ N int64 }
	server := newFakeServer[reading](t)
	a, err := NewAppender[reading](t.Context(), server.client(ClientOptions{}), "r", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Append(t.Context(), reading{1}); err == nil || !strings.Contains(err.Error(), "use AppendAt") {
		t.Error(err)
	}
	if err := a.AppendAt(t.Context(), time.Time{}, reading{1}); err == nil || !strings.Contains(err.Error(), "not set") {
		t.Error(err)
	}
	if _, err := a.Send(t.Context(), "id", []reading{{1}}); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Error(err)
	}
	if err := errors.Join(a.AppendAt(t.Context(), time.Unix(1, 0), reading{1}), a.Close(t.Context())); err != nil {
		t.Error(err)
	}
	timed := open(t, newFakeServer[small](t), Options{}, ClientOptions{})
	if err := timed.AppendAt(t.Context(), time.Unix(1, 0), row(1)); err == nil || !strings.Contains(err.Error(), "use Append") {
		t.Error(err)
	}
}

func TestBatchesWithIDsOfTheCaller(t *testing.T) {
	server := newFakeServer[small](t)
	a := open(t, server, Options{}, ClientOptions{})
	for _, isDuplicate := range []bool{false, true} {
		done, err := a.Send(t.Context(), "minute 1", []small{row(1), row(2)})
		if err != nil || done.Rows != 2 || done.Duplicate != isDuplicate {
			t.Error(done, err)
		}
	}
	if _, err := a.Send(t.Context(), "", nil); err == nil {
		t.Error("a batch without an id")
	}
	if _, err := a.Send(t.Context(), "x", []small{row(1), {}}); err == nil || !strings.HasPrefix(err.Error(), "row 1: ") {
		t.Error(err)
	}
}

func TestAnAppenderBeginsOnlyIfTheTableFits(t *testing.T) {
	server := newFakeServer[small](t)
	server.schema = arrow.NewSchema([]arrow.Field{
		{Name: "time", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	_, err := NewAppender[small](t.Context(), server.client(ClientOptions{}), "r", Options{})
	if err == nil || !strings.Contains(err.Error(), "field small.Time (time.Time): column time of table r is TEXT") {
		t.Error(err)
	}
	if _, err := NewAppender[int](t.Context(), server.client(ClientOptions{}), "r", Options{}); err == nil {
		t.Error("rows of integers")
	}
	for _, wrong := range []Options{{BatchBytes: 1 << 30}, {BatchBytes: 100, MemoryBytes: 199}} {
		if _, err := NewAppender[small](t.Context(), server.client(ClientOptions{}), "r", wrong); err == nil {
			t.Errorf("%+v", wrong)
		}
	}
}

func TestRowsThatNoBatchCanHave(t *testing.T) {
	type blob struct {
		Time time.Time
		Data []byte
	}
	server := newFakeServer[blob](t)
	a, err := NewAppender[blob](t.Context(), server.client(ClientOptions{}), "r", Options{BatchBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Append(t.Context(), blob{time.Unix(1, 0), make([]byte, batchBytesMax)}); err == nil {
		t.Error("a row of 32 MiB")
	}
	// A row that exceeds the size of a batch is sent as a batch of its own.
	for range 2 {
		if err := a.Append(t.Context(), blob{time.Unix(1, 0), make([]byte, 5000)}); err != nil {
			t.Error(err)
		}
	}
	if err := a.Close(t.Context()); err != nil || !reflect.DeepEqual(server.batches(), []int64{1, 1}) {
		t.Error(err, server.batches())
	}
}
