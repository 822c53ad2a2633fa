package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"
)

// A roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only the GET stream of a Streamable HTTP session is left out, and only for its server.
func TestStreamSwitch(t *testing.T) {
	e := edit(t, remoteServers, false)
	asked := 0
	transport := func(id string) http.RoundTripper {
		return e.site.servers.observe(id)(roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return httptest.NewRecorder().Result(), nil
		}))
	}
	revision := map[string]string{"Mcp-Protocol-Version": "2025-11-25"}
	resumed := map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Last-Event-Id": "7"}
	send := func(id, method string, headers map[string]string, want int) {
		t.Helper()
		r := httptest.NewRequest(method, "http://a.example/mcp", nil)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		before := asked
		response, err := transport(id).RoundTrip(r)
		assert.NilError(t, err)
		defer response.Body.Close()
		assert.Equal(t, response.StatusCode, want)
		assert.Equal(t, asked-before, map[int]int{200: 1}[want])
	}
	send("open", "GET", revision, 200)
	status, body := e.post("/api/servers/open/stream", map[string]bool{"omit": true}, nil)
	assert.Equal(t, status, 200, "%s", body)
	send("open", "GET", revision, 405)
	send("open", "GET", nil, 200) // HTTP+SSE
	send("open", "GET", resumed, 200)
	send("open", "POST", revision, 200)
	send("never", "GET", revision, 200)
	assert.Assert(t, e.site.servers.statuses()[0].NoStream)
	for id, want := range map[string]int{"process": 404, "none": 404} {
		status, _ = e.post("/api/servers/"+id+"/stream", map[string]bool{"omit": true}, nil)
		assert.Equal(t, status, want, id)
	}
	e.post("/api/servers/open/stream", map[string]bool{"omit": false}, nil)
	send("open", "GET", revision, 200)
}
