package gateway_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A replaced server keeps its place in the order. Its calls in flight fail, and later calls go to
// its replacement.
func TestReplace(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		working := make(chan struct{})
		w.add("hang", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			close(working)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		assert.NilError(t, w.gateway.Add(w.server("second", mcp.Modern)))
		time.Sleep(5 * time.Second)
		assert.DeepEqual(t, w.gateway.Tools(), map[string]int{"up": 2, "second": 2})
		changes := make(chan int, 100)
		w.client(client.Options{OnToolsChanged: func(tools []*mcp.Tool, err error) {
			changes <- len(tools)
		}}, func(c *client.Client) {
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), "up__hang", nil)
				ended <- err
			}()
			<-working
			replacement := w.server("up", mcp.Modern)
			replacement.Filter.Deny = []string{"hang"}
			release := w.downstream.Integration().DeferListChanged()
			assert.NilError(t, w.gateway.Add(replacement))
			assert.ErrorContains(t, <-ended, `server "up"`)
			w.gateway.Settle(t.Context())
			synctest.Wait()
			assert.Equal(t, len(changes), 0)
			release()
			time.Sleep(5 * time.Second)
			assert.Equal(t, len(changes), 1, "all of it is one change")
			assert.Equal(t, <-changes, 3)
			assert.DeepEqual(t, w.gateway.Manager().IDs(), []string{"up", "second"})
			assert.DeepEqual(t, w.gateway.Tools(), map[string]int{"up": 1, "second": 2})
			_, err := c.CallTool(t.Context(), "up__hang", nil)
			assert.ErrorContains(t, err, "Unknown tool")
			_, err = c.CallToolRaw(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
		})
	})
}

// The items of a disabled server are offered when it is enabled, and those of a failed server when
// it is restarted.
func TestEnable(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		off := w.server("off", mcp.Modern)
		off.Disabled = true
		connect, broken := off.Connect, new(atomic.Bool)
		off.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			if broken.Load() {
				return nil, context.DeadlineExceeded
			}
			return connect(ctx, session, o)
		}
		assert.NilError(t, w.gateway.Add(off))
		time.Sleep(5 * time.Second)
		assert.DeepEqual(t, w.gateway.Tools(), map[string]int{"up": 1})
		m := w.gateway.Manager()
		assert.NilError(t, m.Enable("off"))
		time.Sleep(5 * time.Second)
		assert.DeepEqual(t, w.gateway.Tools(), map[string]int{"up": 1, "off": 1})

		broken.Store(true)
		assert.NilError(t, w.upConn.Close())
		time.Sleep(time.Hour)
		assert.Equal(t, m.Status()[1].State, host.Failed)
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "off__verbatim", nil)
			assert.ErrorContains(t, err, `server "off" is not available`)
		})
		broken.Store(false)
		assert.NilError(t, m.Restart("off"))
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "off__verbatim", nil)
			assert.NilError(t, err)
		})
	})
}

// A server with cached lists is offered again when it is enabled, and starts at its next use.
func TestEnableWithCache(t *testing.T) {
	dir := t.TempDir()
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		s := w.server("up", mcp.Modern)
		s.Digest = "d"
		w.reopen(gateway.Options{CacheDir: dir}, s)
		m := w.gateway.Manager()
		assert.Equal(t, m.Status()[0].State, host.Ready)
		for range 2 {
			assert.NilError(t, m.Disable("up"))
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.gateway.Tools(), map[string]int{})
			assert.NilError(t, m.Enable("up"))
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.gateway.Tools(), map[string]int{"up": 1})
			assert.Equal(t, m.Status()[0].State, host.Stopped)
			w.client(client.Options{}, func(c *client.Client) {
				_, err := c.CallTool(t.Context(), "up__verbatim", nil)
				assert.NilError(t, err)
			})
			assert.Equal(t, m.Status()[0].State, host.Ready)
		}
	})
}
