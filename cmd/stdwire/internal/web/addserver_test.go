package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A server at a URL is added without being asked anything, stays when the configuration changes,
// and is removed.
func TestAddURL(t *testing.T) {
	e := edit(t, twoServers, false)
	e.site.std = &term.Streams{Err: &term.Console{W: io.Discard}}
	var asked atomic.Int32
	at := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
	}))
	defer at.Close()
	connect := func(url string, want int) (id string) {
		t.Helper()
		var out struct{ ID string }
		status, body := e.post("/api/connect", map[string]string{"url": url}, &out)
		assert.Equal(t, status, want, "%s", body)
		return out.ID
	}
	first := connect(at.URL+"/mcp?key=hidden1", 200)
	assert.Equal(t, connect(at.URL+"/mcp?key=hidden1", 200), first)
	second := connect(at.URL+"/other", 200)
	assert.Equal(t, second, first+"-2")
	for _, url := range []string{"", "ftp://x/", "javascript:alert(1)", "/mcp", "http://"} {
		connect(url, 400)
	}
	e.write(fileChange{Server: "two", Remove: true})
	assert.DeepEqual(t, e.ids(), []string{"one", first, second})
	_, body := e.send("GET", "/api/servers", "", e.key())
	assert.Assert(t, cmp.Contains(body, `"added":true`))
	assert.Assert(t, !strings.Contains(body, "hidden1"), "%s", body)

	for id, want := range map[string]int{first: 200, "one": 404} {
		status, _ := e.post("/api/servers/"+id+"/do/forget", struct{}{}, nil)
		assert.Equal(t, status, want, id)
	}
	assert.DeepEqual(t, e.ids(), []string{"one", second})
	assert.Equal(t, asked.Load(), int32(0))

	// one of the configuration takes the id
	e.write(fileChange{Server: second, Definition: `{"command": "x"}`})
	assert.DeepEqual(t, e.ids(), []string{"one", second})
	status, _ := e.post("/api/servers/"+second+"/do/forget", struct{}{}, nil)
	assert.Equal(t, status, 404)

	for range maxAdded {
		connect(at.URL+"/"+e.ids()[len(e.ids())-1], 200)
	}
	connect(at.URL+"/more", 400)
	e.site.servers.disableAdding("other machines")
	connect(at.URL+"/more", 403)
}
