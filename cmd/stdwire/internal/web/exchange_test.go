package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// The page is shown the HTTP exchange of a message, but not its credentials.
func TestExchange(t *testing.T) {
	v := visit(t)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "hunter-cookie")
		if strings.Contains(string(text), `"server/discover"`) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer remote.Close()
	std := &term.Streams{Err: &term.Console{W: io.Discard}}
	one := target.NewTarget()
	one.Remote.URL, one.Era = remote.URL, "modern"
	one.Remote.Header = http.Header{"Authorization": {"Bearer hunter-token"}, "X-Key": {"hunter-key"}}
	assert.NilError(t, v.site.servers.addTarget(one, std))
	id := v.site.servers.all[0].id
	err := v.site.servers.use(t.Context(), id, func(_ *server, c *client.Client) error {
		_, err := c.Call(t.Context(), "ping", nil)
		return err
	})
	assert.ErrorContains(t, err, "503")
	const messages = 3 // server/discover, its response, and ping
	for {              // they are recorded concurrently
		_, changed := v.site.changes.Current()
		if status, _ := v.send("GET", fmt.Sprintf("/api/traffic/%d", messages), "", v.key()); status == 200 {
			break
		}
		<-changed
	}
	_, first := v.send("GET", "/api/traffic/1", "", v.key())
	assert.Assert(t, cmp.Contains(first, `"status":"200 OK"`))
	assert.Assert(t, cmp.Contains(first, `"Content-Type":["application/json"]`))
	assert.Assert(t, cmp.Contains(first, `"X-Key":["(not shown)"]`))
	var last string
	for n := range messages {
		_, text := v.send("GET", fmt.Sprintf("/api/traffic/%d", n+1), "", v.key())
		if strings.Contains(text, "503") {
			last = text
		}
		assert.Assert(t, !strings.Contains(text, "hunter"), "%s", text)
	}
	assert.Assert(t, last != "")

	// every HTTP request is listed, with the bodies as bytes
	status, list := v.send("GET", "/api/network", "", v.key())
	assert.Equal(t, status, 200)
	assert.Assert(t, !strings.Contains(list, "hunter"), "%s", list)
	var requests []struct {
		N      int64
		Method string
		Status string
	}
	assert.NilError(t, json.Unmarshal([]byte(list), &requests))
	assert.Assert(t, len(requests) >= 2)
	assert.Equal(t, requests[0].Status, "503 Service Unavailable")
	discovery := requests[len(requests)-1]
	assert.Equal(t, discovery.Method+" "+discovery.Status, "POST 200 OK")
	status, text := v.send("GET", fmt.Sprintf("/api/network/%d", discovery.N), "", v.key())
	assert.Equal(t, status, 200)
	assert.Assert(t, !strings.Contains(text, "hunter"), "%s", text)
	var whole struct{ Sent, Received []byte }
	assert.NilError(t, json.Unmarshal([]byte(text), &whole))
	assert.Assert(t, cmp.Contains(string(whole.Sent), `"server/discover"`))
	assert.Assert(t, cmp.Contains(string(whole.Received), `"supportedVersions"`))
	status, _ = v.send("GET", "/api/network/999", "", v.key())
	assert.Equal(t, status, 404)
}
