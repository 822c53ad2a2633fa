package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// An endless body counts what is read of it.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if n := copy(p, `{"token":"`); e.read.Load() > 0 {
		copy(p[:n], "xxxxxxxxxx")
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// Before the page has shown its key, nearly nothing of a body is read.
func TestBodiesOfStrangers(t *testing.T) {
	v := visit(t)
	for _, tt := range []struct {
		path string
		most int64
	}{{"/session", maxToken + 1}, {"/api/calls", 0}, {"/api/recordings", 0}, {"/", 0}} {
		for _, length := range []int64{-1, 10, reply.MaxBody, 1 << 40} {
			body := &endless{}
			r := httptest.NewRequest("POST", tt.path, body)
			r.Host, r.ContentLength = "127.0.0.1:4000", length
			w := httptest.NewRecorder()
			v.handler.ServeHTTP(w, r)
			assert.Assert(t, w.Code >= 400, "%s: %d", tt.path, w.Code)
			assert.Assert(t, body.read.Load() <= tt.most, "%s: %d", tt.path, body.read.Load())
		}
	}
}

// A held body is read when the test says so.
type held struct {
	begin   func()
	once    sync.Once
	release chan struct{}
	rest    io.Reader
}

func (h *held) Read(p []byte) (int, error) {
	h.once.Do(h.begin)
	<-h.release
	return h.rest.Read(p)
}

// All bodies together have a budget. Those over it are read in turn, and small ones need none.
func TestBodiesShareABudget(t *testing.T) { synctest.Test(t, testBodiesShareABudget) }

func testBodiesShareABudget(t *testing.T) {
	v := visit(t)
	const fit, more = maxBodies / reply.MaxBody, 5
	open := make(chan struct{})
	began := make(chan struct{}, fit+more)
	var wg sync.WaitGroup
	send := func(length int64, body io.Reader) int {
		r := httptest.NewRequest("POST", "/api/diff", body)
		r.Host, r.ContentLength = "127.0.0.1:4000", length
		r.Header.Set("Authorization", "Bearer "+v.access.key)
		w := httptest.NewRecorder()
		v.handler.ServeHTTP(w, r)
		return w.Code
	}
	for range fit + more {
		wg.Go(func() {
			body := &held{begin: func() { began <- struct{}{} }, release: open,
				rest: strings.NewReader(`{"old":1,"new":2}`)}
			assert.Check(t, send(reply.MaxBody, body) == http.StatusNotFound)
		})
	}
	synctest.Wait()
	assert.Equal(t, len(began), fit)
	assert.Equal(t, send(17, strings.NewReader(`{"old":1,"new":2}`)), http.StatusNotFound)
	close(open)
	wg.Wait()
	assert.Equal(t, v.access.bodies.Used(), int64(0))
}
