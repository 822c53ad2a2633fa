package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

const typical = `{"action":"say","params":{"text":"0123456789012345678901234567890123456789012345678901234567890123"}}`

// A sink is a response writer that remembers the status only.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

// one returns a function that makes one typical call.
func one(tb testing.TB) func() {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.say", Summary: "Says what you said.",
		Type: dispatch.Read}, echo[note])
	h := api.Options{}.New(dispatch.Options{}.New(c))
	body := strings.NewReader(typical)
	r := httptest.NewRequest("POST", "/v1/a", io.NopCloser(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", "r-7")
	r.ContentLength = int64(len(typical))
	w := &sink{header: http.Header{}}
	return func() {
		body.Reset(typical)
		clear(w.header)
		h.ServeHTTP(w, r)
		assert.Equal(tb, w.status, 200)
	}
}

func BenchmarkCall(b *testing.B) {
	call := one(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

func TestACallAllocatesLittle(t *testing.T) {
	allocs := testing.AllocsPerRun(1000, one(t))
	assert.Assert(t, allocs <= 45, "%v allocations", allocs)
}

func BenchmarkOverTheWire(b *testing.B) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.say", Summary: "Says what you said.",
		Type: dispatch.Read}, echo[note])
	for _, way := range []struct {
		name    string
		handler http.Handler
	}{{"api", api.Options{}.New(dispatch.Options{}.New(c))},
		{"bare", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			assert.Check(b, err)
			_, err = w.Write(text)
			assert.Check(b, err)
		})}} {
		b.Run(way.name, func(b *testing.B) {
			server := httptest.NewServer(way.handler)
			defer server.Close()
			client := server.Client()
			b.ReportAllocs()
			for b.Loop() {
				answer, err := client.Post(server.URL+"/v1/a", "application/json",
					strings.NewReader(typical))
				assert.NilError(b, err)
				_, err = io.Copy(io.Discard, answer.Body)
				assert.NilError(b, err)
				assert.NilError(b, answer.Body.Close())
				assert.Equal(b, answer.StatusCode, 200)
			}
		})
	}
}

// The document of a large catalog, which is made once for every change.
func BenchmarkOpenAPI(b *testing.B) {
	c := many(b)
	r := httptest.NewRequest("GET", "/v1/openapi.json", nil)
	b.ReportAllocs()
	for b.Loop() {
		api.Options{}.New(dispatch.Options{}.New(c)).ServeHTTP(
			&sink{header: http.Header{}}, r)
	}
}
