package atsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type small struct {
	Time time.Time
	N    int64
}

func smallStream(t *testing.T) []byte {
	t.Helper()
	collector := newCollector[small](newSmallLayout(t))
	size, err := collector.hold(time.Time{}, small{time.Unix(1, 0), 7})
	if err != nil {
		t.Fatal(err)
	}
	collector.add(size)
	stream, err := encode(collector.take())
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestABusyServerIsAskedAgainAfterTheTimeItNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		var waits []time.Duration
		server.before = func(count int, _ *http.Request) (*http.Response, error) {
			if count < 3 {
				return answer(503, `{"kind": "busy", "message": "too many bytes"}`, "Retry-After", "5"), nil
			}
			return nil, nil
		}
		client := server.client(ClientOptions{OnRetry: func(err error, wait time.Duration) {
			if !strings.Contains(err.Error(), "503 (busy): too many bytes") {
				t.Error(err)
			}
			waits = append(waits, wait)
		}})
		begin := time.Now()
		done, err := client.AppendStream(t.Context(), "r", "id", smallStream(t))
		if err != nil || done.Rows != 1 || done.Duplicate {
			t.Error(done, err)
		}
		if len(waits) != 3 || waits[0] < 5*time.Second || waits[0] > 7*time.Second {
			t.Error("waits", waits)
		}
		if passed := time.Since(begin); passed != waits[0]+waits[1]+waits[2] {
			t.Error("waited", passed)
		}
	})
}

func TestALostAnswerIsAskedForByTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		server.after = func(count int, _ *http.Request) (*http.Response, error) {
			switch count {
			case 0:
				return nil, io.ErrUnexpectedEOF
			case 1: // The answer is cut in its middle.
				cut := answer(200, `{"rows"`)
				cut.Body = io.NopCloser(io.MultiReader(cut.Body, failingReader{}))
				return cut, nil
			}
			return nil, nil
		}
		done, err := server.client(ClientOptions{}).AppendStream(t.Context(), "r", "one", smallStream(t))
		if err != nil || done.Rows != 1 || !done.Duplicate {
			t.Error(done, err)
		}
		if got := server.batches(); len(got) != 1 || server.requestCount() != 3 {
			t.Error(got, server.requestCount())
		}
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhatIsRefusedIsSentOnce(t *testing.T) {
	for status, body := range map[int]string{
		400: `{"kind": "request", "message": "the parameter table is missing"}`,
		401: "who are you?",
		403: `{"kind": "read_only", "message": "m"}`,
		404: `{"kind": "not_found", "message": "no table r", "hint": "did you mean s?"}`,
		409: `{"kind": "duplicate_key", "message": "m"}`,
		413: `{"kind": "request", "message": "m"}`,
		422: `{"kind": "limit", "message": "m"}`,
		301: "",
		500: `{"kind": "internal", "message": "m"}`,
		507: `{"kind": "resources", "message": "m"}`,
	} {
		server := newFakeServer[small](t)
		server.before = func(int, *http.Request) (*http.Response, error) { return answer(status, body), nil }
		_, err := server.client(ClientOptions{}).AppendStream(t.Context(), "r", "id", smallStream(t))
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != status || server.requestCount() != 1 {
			t.Errorf("%d: %v after %d requests", status, err, server.requestCount())
		}
		want := map[int]string{
			404: "atsdb: the server answers 404 (not_found): no table r; did you mean s?",
			401: "atsdb: the server answers 401: who are you?",
			301: "atsdb: the server answers 301: Moved Permanently",
		}[status]
		if want != "" && err.Error() != want {
			t.Error(err)
		}
	}
}

func TestWhatSaysNothingAboutTheContentIsSentAgain(t *testing.T) {
	for status, kind := range map[int]string{
		408: "request", 409: "conflict", 429: "", 502: "", 503: "unavailable", 504: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newFakeServer[small](t)
			server.before = func(count int, _ *http.Request) (*http.Response, error) {
				if count == 0 {
					return answer(status, `{"kind": "`+kind+`", "message": "later"}`), nil
				}
				return nil, nil
			}
			_, err := server.client(ClientOptions{}).AppendStream(t.Context(), "r", "id", smallStream(t))
			if err != nil || server.requestCount() != 2 {
				t.Errorf("%d: %v after %d requests", status, err, server.requestCount())
			}
		})
	}
}

func TestAStreamWithoutAnIDIsSentOnce(t *testing.T) {
	server := newFakeServer[small](t)
	server.before = func(int, *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	_, err := server.client(ClientOptions{}).AppendStream(t.Context(), "r", "", smallStream(t))
	if !errors.Is(err, io.ErrUnexpectedEOF) || server.requestCount() != 1 {
		t.Errorf("%v after %d requests", err, server.requestCount())
	}
	if query := server.requests[0].URL.Query(); query.Has("batch") || query.Get("table") != "r" {
		t.Error(query)
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		server.before = func(int, *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
		begin := time.Now()
		_, err := server.client(ClientOptions{RetryTime: time.Hour}).AppendStream(t.Context(), "r", "id", smallStream(t))
		if err == nil || !strings.Contains(err.Error(), "given up after") || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		if passed := time.Since(begin); passed > time.Hour || passed < 59*time.Minute {
			t.Error("given up after", passed)
		}
		// The wait between attempts grows to 15 seconds, so there are a few hundred attempts in an hour.
		if count := server.requestCount(); count < 100 || count > 300 {
			t.Error(count, "attempts")
		}

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("enough"))
		defer cancel()
		_, err = server.client(ClientOptions{}).AppendStream(ctx, "r", "id", smallStream(t))
		if err == nil || !strings.Contains(err.Error(), "enough") || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}

func TestAnAttemptHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer[small](t)
		server.before = func(count int, request *http.Request) (*http.Response, error) {
			if count == 0 {
				<-request.Context().Done()
				return nil, request.Context().Err()
			}
			return nil, nil
		}
		begin := time.Now()
		done, err := server.client(ClientOptions{RequestTime: 10 * time.Second}).AppendStream(t.Context(), "r", "id", smallStream(t))
		if passed := time.Since(begin); err != nil || done.Rows != 1 || passed < 10*time.Second || passed > 11*time.Second {
			t.Error(done, err, passed)
		}
	})
}

func TestACertificateThatNobodyTrustsIsNotAskedAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	again := func(err error, _ time.Duration) { t.Error("again:", err) }
	client, err := NewClient(server.URL, ClientOptions{OnRetry: again})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.AppendStream(t.Context(), "r", "id", nil)
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &certificate) {
		t.Error(err)
	}
}

func TestAddressesAndHeaders(t *testing.T) {
	for _, wrong := range []string{"", "127.0.0.1:8086", "localhost", "ftp://x", "http://", "http://a b", "postgresql://x"} {
		if _, err := NewClient(wrong, ClientOptions{}); err == nil || !strings.Contains(err.Error(), "the server's address") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	server := newFakeServer[small](t)
	client, err := NewClient("https://host/below/?db=air", ClientOptions{
		HTTP: &http.Client{Transport: server}, Header: http.Header{"Authorization": {"Bearer x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppendStream(t.Context(), "a&b", "c d", smallStream(t)); err != nil {
		t.Fatal(err)
	}
	request := server.requests[0]
	query := request.URL.Query()
	if request.URL.Path != "/below/api/append" || query.Get("table") != "a&b" || query.Get("batch") != "c d" ||
		query.Get("db") != "air" || request.Header.Get("Authorization") != "Bearer x" {
		t.Error(request.URL, request.Header)
	}
	if _, err := client.AppendStream(t.Context(), "r", "id", make([]byte, streamBytesMax+1)); err == nil {
		t.Error("a stream of any size is sent")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestAReplacedDefaultTransportIsUsed(t *testing.T) {
	standard := http.DefaultTransport
	defer func() { http.DefaultTransport = standard }()
	http.DefaultTransport = roundTripper(func(*http.Request) (*http.Response, error) {
		return answer(http.StatusOK, `{"rows": 1}`), nil
	})
	client, err := NewClient("http://127.0.0.1:1", ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := client.AppendStream(t.Context(), "t", "", smallStream(t)); err != nil || done.Rows != 1 {
		t.Fatal(done, err)
	}
}

func TestRetryAfterInSecondsAndAsADate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-1": 0, "soon": 0, "9999999": retryAfterMax,
		"Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 2020 00:00:30 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
