package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// die ends the connection to the server "up", and waits until the gateway has noticed.
func (w *fixture) die() {
	w.mu.Lock()
	live := w.upConn
	w.mu.Unlock()
	live.Close()
	synctest.Wait()
}

// The items of a server that has ended stay in the lists, and a call waits until it restarts.
func TestListStaysWhileServerRestarts(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		changes := make(chan int, 10)
		o := client.Options{Era: era,
			OnToolsChanged: func(tools []*mcp.Tool, err error) { changes <- len(tools) }}
		w.client(o, func(c *client.Client) {
			for range 3 { // after 1 s, 2 s and 4 s, or slightly more
				w.die()
				assert.Equal(t, w.state("up"), host.Waiting)
				assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
				raw, err := c.CallToolRaw(t.Context(), "up__verbatim", nil)
				if unavailable := w.retryIn("up"); unavailable > 0 {
					t.Fatalf("it waits still: %v, %v", unavailable, err)
				}
				assert.NilError(t, err)
				assert.Equal(t, string(raw), result)
			}
			time.Sleep(5 * time.Second)
			assert.Equal(t, len(changes), 0, "nothing has changed")
		})
	})
}

// retryIn returns the time until a server restarts.
func (w *fixture) retryIn(id string) time.Duration {
	for _, s := range w.gateway.Manager().Status() {
		if s.ID == id && s.State == host.Waiting {
			return time.Until(s.RetryAt)
		}
	}
	return 0
}

// If a call cannot wait for the restart, its error contains the time of the restart.
func TestErrorSaysWhenServerRestarts(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		catalog := dispatch.NewCatalog()
		w.gateway.Close()
		w.gateway = gateway.Options{Logger: quiet, Catalog: catalog}.New(w.downstream)
		s := w.server("up", mcp.Modern)
		connect, down := s.Connect, new(atomic.Bool)
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			if down.Load() {
				return nil, errors.New("it is down")
			}
			return connect(ctx, session, o)
		}
		assert.NilError(t, w.gateway.Add(s))
		w.gateway.Settle(t.Context())
		d := dispatch.Options{Logger: quiet}.New(catalog)
		operate := func(ctx context.Context) dispatch.Envelope {
			return d.Dispatch(ctx,
				&dispatch.Call{Operation: "up.verbatim", Arguments: json.RawMessage(`{}`),
					Confirmed: true})
		}
		down.Store(true)
		w.die()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		e := operate(short)
		assert.Assert(t, e.Err != nil)
		assert.Equal(t, e.Err.Code, dispatch.UpstreamError)
		assert.Equal(t, e.Err.Message,
			`server "up" is not available: closed the connection; it restarts in 1s`)
		assert.Equal(t, time.Since(began), time.Duration(0), "it cannot be there in time")
		time.Sleep(10 * time.Second) // after several failures
		e = operate(t.Context())
		assert.Assert(t, e.Err != nil)
		assert.ErrorContains(t, e.Err,
			`server "up" is not available: it is down; it restarts in `)
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "up__verbatim", nil)
			assert.ErrorContains(t, err,
				`server "up" is not available: it is down; it restarts in `)
		})
		down.Store(false)
		time.Sleep(time.Minute)
		e = operate(t.Context())
		assert.Assert(t, e.Err == nil, "%v", e.Err)
	})
}
