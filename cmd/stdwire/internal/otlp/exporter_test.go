package otlp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/otlp"
)

func logTo(t *testing.T, w *strings.Builder) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(w, nil))
}

// A collector is an HTTP server in the memory of a synctest bubble.
type collector struct {
	conns  chan net.Conn
	closed chan struct{}
	began  time.Time

	mu     sync.Mutex
	bodies []string        // in the order in which they arrived
	times  []time.Duration // of their arrival, since the start
}

// got returns the requests so far, and when they arrived.
func (c *collector) got() (bodies []string, at []time.Duration) {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies), slices.Clone(c.times)
}

func (c *collector) Accept() (net.Conn, error) {
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}
func (c *collector) Close() error   { close(c.closed); return nil }
func (c *collector) Addr() net.Addr { return &net.TCPAddr{} }

func (c *collector) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	clientEnd, serverEnd := net.Pipe()
	select {
	case c.conns <- serverEnd:
		return clientEnd, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// export runs test in a bubble with an exporter to a collector that answers with handle. n counts
// its requests from 0.
func export(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int),
	test func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder)) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{conns: make(chan net.Conn), closed: make(chan struct{}), began: time.Now()}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			c.mu.Lock()
			n := len(c.bodies)
			c.bodies = append(c.bodies, r.URL.Path+" "+string(body))
			c.times = append(c.times, time.Since(c.began))
			c.mu.Unlock()
			handle(w, r, n)
		})}
		served := make(chan error)
		go func() { served <- s.Serve(c) }()
		config, _, err := configure("http://user:password@c?key=secret",
			"OTEL_EXPORTER_OTLP_HEADERS=x-key=secret", "OTEL_BSP_EXPORT_TIMEOUT=120000")
		assert.NilError(t, err)
		log := new(strings.Builder)
		e := otlp.StartDial(config, logTo(t, log), c.dial)
		test(t, e, c, log)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		e.Close(ctx)
		assert.NilError(t, s.Close())
		<-served
		for _, secret := range []string{"secret", "password"} {
			assert.Assert(t, !strings.Contains(log.String(), secret), log)
		}
	})
}

func TestExport(t *testing.T) {
	export(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("X-Key") != "secret" {
			w.WriteHeader(400)
		}
		_, _ = io.WriteString(w, "{}")
	}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
		e.Traces([]byte(`{"resourceSpans":[]}`))
		e.Metrics([]byte(`{"resourceMetrics":[]}`))
		e.Close(t.Context())
		bodies, _ := c.got()
		assert.DeepEqual(t, bodies, []string{`/v1/traces {"resourceSpans":[]}`,
			`/v1/metrics {"resourceMetrics":[]}`})
		assert.Equal(t, e.Dropped(), int64(0))
		assert.Equal(t, log.String(), "")
		e.Traces([]byte(`{}`)) // nobody sends it any more
		assert.Equal(t, e.Dropped(), int64(1))
	})
}

// A busy collector gets the same request again: after the time that it asks for, in seconds or as
// a date, at most 30 seconds; otherwise after a growing one.
func TestRetry(t *testing.T) {
	export(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 0:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
		case 1:
			w.Header().Set("Retry-After",
				time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		case 2:
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(429)
		case 3:
			w.Header().Set("Retry-After", "soon")
			w.WriteHeader(502)
		case 4:
			w.WriteHeader(504)
		}
	}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
		e.Traces([]byte(`1`))
		time.Sleep(110 * time.Second)
		_, at := c.got()
		assert.Equal(t, len(at), 6)
		assert.DeepEqual(t, at[:4], []time.Duration{0, 7 * time.Second, 27 * time.Second,
			57 * time.Second})
		for i, longest := range []time.Duration{8 * time.Second, 16 * time.Second} {
			waited := at[i+4] - at[i+3]
			assert.Assert(t, waited >= longest/2 && waited <= longest, waited)
		}
		assert.Equal(t, e.Dropped(), int64(0))
		assert.Equal(t, log.String(), "")
	})
}

// A collector that asks for time gets none of the other payloads meanwhile, even if the first one
// is given up.
func TestBusy(t *testing.T) {
	export(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(429)
	}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
		e.Traces([]byte(`1`))
		e.Traces([]byte(`2`))
		time.Sleep(125 * time.Second)
		bodies, at := c.got()
		assert.DeepEqual(t, at, []time.Duration{0, 30 * time.Second, 60 * time.Second,
			90 * time.Second, 120 * time.Second})
		assert.Equal(t, bodies[3], "/v1/traces 1")
		assert.Equal(t, bodies[4], "/v1/traces 2")
		assert.Equal(t, e.Dropped(), int64(1))
	})
}

// Any other answer is final, and a redirect is not followed.
func TestRefusal(t *testing.T) {
	export(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Location", "http://elsewhere/")
		w.WriteHeader([]int{400, 401, 404, 500, 307}[n])
	}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
		for range 5 {
			e.Traces([]byte(`1`))
		}
		bodies, _ := c.got()
		assert.Equal(t, len(bodies), 5)
		assert.Equal(t, e.Dropped(), int64(5))
		assert.Equal(t, strings.Count(log.String(), "\n"), 1, log)
		assert.Assert(t, cmp.Contains(log.String(), `collector=http://c/v1/traces`))
		assert.Assert(t, cmp.Contains(log.String(), `answered 400 Bad Request`))
		e.Close(t.Context())
		assert.Assert(t, cmp.Contains(log.String(), `payloads=4`))
	})
}

// A collector that never answers holds the queue for a while; each payload has its time.
func TestNoAnswer(t *testing.T) {
	export(t, func(w http.ResponseWriter, r *http.Request, n int) {
		<-r.Context().Done()
	}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
		e.Traces([]byte(`1`))
		e.Traces([]byte(`2`))
		time.Sleep(time.Minute)
		bodies, _ := c.got()
		assert.Assert(t, len(bodies) > 3 && len(bodies) < 7, len(bodies))
		assert.Equal(t, bodies[len(bodies)-1], "/v1/traces 1")
		time.Sleep(100 * time.Second)
		bodies, _ = c.got()
		assert.Equal(t, bodies[len(bodies)-1], "/v1/traces 2")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		e.Close(ctx)
		assert.Equal(t, time.Since(began), 3*time.Second)
		assert.Equal(t, e.Dropped(), int64(2))
	})
}

// A collector that is slow delays no caller: the queue is bounded and loses its oldest payloads.
func TestBacklog(t *testing.T) {
	export(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 0 {
			time.Sleep(5 * time.Second)
		}
	}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
		e.Traces([]byte("first"))
		synctest.Wait()
		began := time.Now()
		for i := range 10_000 {
			e.Traces(fmt.Appendf(nil, "%d", i))
		}
		assert.Equal(t, time.Since(began), time.Duration(0))
		assert.Equal(t, e.Dropped(), int64(10_000-256))
		for range 40 { // 40 MB
			e.Metrics(make([]byte, 1<<20))
		}
		assert.Equal(t, e.Dropped(), int64(10_000+40-16))
		e.Traces(make([]byte, 16<<20+1))
		assert.Equal(t, e.Dropped(), int64(10_000+40-16+1))
		time.Sleep(6 * time.Second)
		bodies, _ := c.got()
		assert.Equal(t, len(bodies), 1+16)
		assert.Equal(t, strings.Count(log.String(), "\n"), 1)
		assert.Assert(t, cmp.Contains(log.String(), "payloads=10025"))
	})
}

// What a collector answers is not trusted: not its form, its size, or its text.
func TestResponses(t *testing.T) {
	for _, tt := range []struct{ response, want string }{
		{"{}", ""}, {"", ""}, {"<html>", ""}, {"[1", ""}, {`{"partialSuccess":7}`, ""},
		{`{"partialSuccess":{}}`, ""},
		{strings.Repeat(" ", 1<<20) + `{"partialSuccess":{"rejectedSpans":"3"}}`, ""},
		{`{"partialSuccess":{"rejectedSpans":"3"}}`, "rejected=3"},
		{"\uFEFF" + `{"partialSuccess":{"rejectedSpans":"3"}}`, "rejected=3"},
		{`{"partialSuccess":{"rejectedSpans":3,"errorMessage":"too\u001b[31m old"}}`,
			`rejected="3: too old"`},
		{`{"partialSuccess":{"rejectedSpans":"x","errorMessage":"` + strings.Repeat("long", 10000) +
			`"}}`, "rejected=longlong"},
	} {
		export(t, func(w http.ResponseWriter, r *http.Request, n int) {
			_, _ = io.WriteString(w, tt.response)
		}, func(t *testing.T, e *otlp.Exporter, c *collector, log *strings.Builder) {
			for range 3 {
				e.Traces([]byte(`1`))
			}
			synctest.Wait()
			if tt.want == "" {
				assert.Equal(t, log.String(), "", "%.50s", tt.response)
				return
			}
			assert.Assert(t, cmp.Contains(log.String(), tt.want))
			assert.Equal(t, strings.Count(log.String(), "\n"), 1)
			assert.Assert(t, log.Len() < 500)
			assert.Equal(t, e.Dropped(), int64(0))
		})
	}
}

// A collector that is down is tried again until it is up.
func TestDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, err := configure("http://c")
		assert.NilError(t, err)
		var n atomic.Int32
		log := new(strings.Builder)
		dial := func(context.Context, string, string) (net.Conn, error) {
			n.Add(1)
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: io.ErrUnexpectedEOF}
		}
		e := otlp.StartDial(config, logTo(t, log), dial)
		e.Traces([]byte(`1`))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Assert(t, n.Load() > 3 && n.Load() < 7, n.Load())
		assert.Equal(t, e.Dropped(), int64(1))
		assert.Assert(t, cmp.Contains(log.String(), "dial tcp: unexpected EOF"))
		e.Close(t.Context())
	})
}
