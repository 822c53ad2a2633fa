package hook

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// BenchmarkHook measures what a hook adds to a call: a program in Go that is run for each call, the
// same as one process, and an HTTP server in this process.
func BenchmarkHook(b *testing.B) {
	self, err := os.Executable()
	assert.NilError(b, err)
	quiet := slog.New(slog.DiscardHandler)
	b.Run("process-per-call", func(b *testing.B) {
		b.Setenv(fixtureEnv, "once")
		measure(b, newProcess([]string{self}, quiet))
	})
	b.Run("persistent", func(b *testing.B) { measure(b, runPersistent(b).hook) })
	b.Run("http", func(b *testing.B) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"arguments":{"new":true}}`))
		}))
		defer s.Close()
		u, err := url.Parse(s.URL)
		assert.NilError(b, err)
		h, e := newEndpoint(u, func() []byte { return testKey }, quiet)
		defer e.client.CloseIdleConnections()
		measure(b, h)
	})
}

// measure makes calls one after the other and reports percentiles of what the hook takes.
func measure(b *testing.B, h *hook) {
	call := h.before(func(_ context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		if string(i.Arguments) != `{"new":true}` {
			b.Errorf("the hook left %s", i.Arguments)
		}
		return nil, nil
	})
	one := func() time.Duration {
		began := time.Now()
		_, err := call(b.Context(), &dispatch.Invocation{Kind: "tool", Server: "files",
			Name: "read", Principal: "ada", Arguments: json.RawMessage(`{"do":"replace"}`)})
		assert.NilError(b, err)
		return time.Since(began)
	}
	one() // starts the process, or connects
	var took []time.Duration
	for b.Loop() {
		took = append(took, one())
	}
	slices.Sort(took)
	for name, share := range map[string]int{"p50-µs": 50, "p99-µs": 99} {
		at := took[min(len(took)-1, len(took)*share/100)]
		b.ReportMetric(float64(at.Nanoseconds())/1000, name)
	}
}
