package transport

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
)

func TestReadinessOf(t *testing.T) {
	for state, usable := range map[host.State]bool{host.Stopped: true, host.Starting: false,
		host.Ready: true, host.Waiting: false, host.Failed: false, host.Disabled: true} {
		servers := []host.Status{{ID: "a", State: host.Ready}, {ID: "b", State: state},
			{ID: "c", Session: "1", State: host.Failed}}
		for _, required := range []string{"a", "b", "c", "d"} {
			got := ReadinessOf(servers, map[string]bool{required: true}, nil)
			assert.Equal(t, got.Ready, usable || required != "b", state)
			assert.Equal(t, got.Degraded, !usable && required != "b", state)
			assert.Equal(t, got.Servers[host.Failed] > 0, state == host.Failed)
			assert.Equal(t, got.Required[state] > 0, !usable && required == "b")
		}
	}
	assert.Assert(t, ReadinessOf(nil, nil, nil).Ready)
}

// /readyz fails while lists wait for servers, while a required server fails, and during the
// shutdown. It
// names no server, and says nothing of why one fails.
func TestReadyz(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := host.NewManager(nil)
		defer m.Close()
		secret := errors.New("secret")
		assert.NilError(t, m.Add(host.Server{ID: "secret",
			Connect: func(context.Context, string, client.Options) (*client.Client, error) {
				return nil, secret
			}}))
		ctx, cancel := context.WithCancel(t.Context())
		required := map[string]bool{}
		started := make(chan struct{})
		w := &HTTPServer{Readiness: func() Readiness {
			return ReadinessOf(m.Status(), required, started)
		}}
		handler := w.serveReadiness(ctx)
		expect := func(status int, body string) {
			t.Helper()
			got := httptest.NewRecorder()
			handler(got, httptest.NewRequest("GET", "/readyz", nil))
			assert.Equal(t, got.Code, status)
			assert.Equal(t, got.Body.String(), body+"\n")
		}
		expect(503, `{"ready":false,"servers":{"stopped":1}}`)
		close(started)
		expect(200, `{"ready":true,"servers":{"stopped":1}}`)
		assert.NilError(t, m.Restart("secret"))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		expect(200, `{"ready":true,"degraded":true,"servers":{"waiting":1}}`)
		required = map[string]bool{"secret": true}
		expect(503, `{"ready":false,"servers":{"waiting":1},"required":{"waiting":1}}`)
		assert.NilError(t, m.Disable("secret"))
		expect(200, `{"ready":true,"servers":{"disabled":1}}`)
		cancel()
		expect(503, `{"ready":false,"servers":{"disabled":1}}`)

		w = new(HTTPServer) // without configured servers
		handler = w.serveReadiness(t.Context())
		expect(200, `{"ready":true}`)
	})
}
