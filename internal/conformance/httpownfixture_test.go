//go:build linux

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// n calls an operation of the fixture and returns what it counts.
func (o *own) n(tool, arguments string) int {
	o.t.Helper()
	said, err := o.text(tool, arguments)
	assert.NilError(o.t, err)
	var envelope struct{ Data conformance.Count }
	assert.NilError(o.t, json.Unmarshal([]byte(strings.TrimSuffix(said, "|(error)")), &envelope),
		said)
	return int(envelope.Data.N)
}

// The client of this module with the fixture, on each transport over HTTP: calls that were given up
// have ended at the server, and lost connections are reported.
func TestOwnClientOnFixture(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		revision mcp.Revision
		front    func(http.Handler) http.Handler
	}{
		"modern": {mcp.Latest, func(h http.Handler) http.Handler { return h }},
		"legacy": {mcp.Rev20251125, func(h http.Handler) http.Handler { return h }},
		"HTTP+SSE": {mcp.Rev20241105, func(h http.Handler) http.Handler { // and nothing newer
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.RawQuery == "" {
					http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
					return
				}
				h.ServeHTTP(w, r)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, checked := checkedServer(t)
			handler := streamable.Options{HTTPSSE: true,
				Logger: options.Logger}.New(
				options.New(server.Info{Name: "fixture", Version: "1"}, conformance.Fixture()))
			site := httptest.NewServer(test.front(handler))
			t.Cleanup(site.Close)
			o := newOwn(t, site.URL+"/mcp", test.revision)
			assert.Equal(t, o.n("add", `{"a":1,"b":2}`), 3)
			for tool, code := range map[string]string{"fail": "not_found",
				"panic": "internal_error"} {
				said, err := o.text(tool, `{}`)
				assert.NilError(t, err)
				assert.Assert(t, strings.Contains(said, `"code":"`+code+`"`) &&
					strings.HasSuffix(said, "(error)"), said)
			}
			_, err := o.text("nothing", `{}`)
			assert.ErrorIs(t, err, rpc.ErrInvalidParams)
			assert.Equal(t, o.n("grow", `{}`), 1)
			assert.Equal(t, len(next(t, o.tools)), 8)
			o.givesUp(site.URL + "/mcp")
			assert.Assert(t, checked("tools/call result") > 0)

			handler.Close()
			if test.revision != mcp.Rev20241105 {
				_, err = o.text("add", `{"a":1,"b":2}`)
				assert.Assert(t, err != nil)
				assert.NilError(t, o.Err()) // there is no connection that could break
				return
			}
			next(t, o.Done())
			lost, _ := errors.AsType[*client.LostError](o.Err())
			assert.Assert(t, lost != nil, "%v", o.Err())
			_, err = o.text("add", `{"a":1,"b":2}`)
			assert.ErrorIs(t, err, rpc.ErrClosed)
		})
	}
}

// givesUp gives up calls in every way, and waits until they have ended at the server.
func (o *own) givesUp(url string) {
	t := o.t
	t.Helper()
	gone := 0
	ended := func() {
		t.Helper()
		gone++
		eventually.True(t, "the call has ended", func() bool { return o.n("ended", `{}`) == gone })
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := o.CallTool(ctx, "block", nil,
		client.OnProgress(func(mcp.ProgressParams) { cancel() }))
	assert.ErrorIs(t, err, context.Canceled)
	ended()

	_, err = o.CallTool(t.Context(), "block", nil, client.Timeout(time.Second))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	ended()

	other := newOwn(t, url, o.Revision())
	_, err = other.CallTool(t.Context(), "block", nil,
		client.OnProgress(func(mcp.ProgressParams) { go other.Close() }))
	assert.ErrorIs(t, err, rpc.ErrClosed)
	ended()
}
