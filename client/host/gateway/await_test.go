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
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A call to a server that is starting for the first time waits until its lists are known. A call to
// a server that cannot be started fails with the reason.
func TestCallWaitsForFirstStart(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		catalog := dispatch.NewCatalog()
		w.gateway.Close()
		w.gateway = gateway.Options{Logger: quiet, Catalog: catalog}.New(w.downstream)
		assert.NilError(t, w.gateway.Add(w.server("up", w.era)))
		w.gateway.Settle(t.Context())
		slow := w.server("slow", w.era)
		connect := slow.Connect
		slow.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			time.Sleep(20 * time.Second)
			return connect(ctx, session, o)
		}
		broken := gateway.Upstream{Server: host.Server{ID: "broken",
			Connect: func(context.Context, string, client.Options) (*client.Client, error) {
				return nil, errors.New("boom")
			}}}
		off := gateway.Upstream{Server: host.Server{ID: "off", Disabled: true,
			Connect: broken.Connect}}
		d := dispatch.Options{Logger: quiet, Missing: w.gateway.AwaitOperation}.New(catalog)
		operate := func(ctx context.Context, name string) dispatch.Envelope {
			return d.Dispatch(ctx,
				&dispatch.Call{Operation: name, Arguments: json.RawMessage(`{}`), Confirmed: true})
		}
		w.client(client.Options{Era: era}, func(c *client.Client) {
			began := time.Now()
			after := func(want time.Duration) {
				t.Helper()
				assert.Equal(t, time.Since(began), want)
				began = time.Now()
			}
			start := func() {
				assert.NilError(t, w.gateway.Add(slow))
				began = time.Now()
			}
			start()
			raw, err := c.CallToolRaw(t.Context(), "slow__verbatim", nil)
			assert.NilError(t, err)
			assert.Equal(t, string(raw), result)
			after(20 * time.Second)
			start()
			_, err = c.GetPrompt(t.Context(), "slow__greet", map[string]string{"who": "x"})
			assert.NilError(t, err)
			after(20 * time.Second)
			start()
			e := operate(t.Context(), "slow.verbatim")
			assert.Assert(t, e.Err == nil, "%v", e.Err)
			after(20 * time.Second)
			start()
			_, err = c.CallTool(t.Context(), "slow__verbatim", nil, client.Timeout(5*time.Second))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			after(5 * time.Second)
			short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			e = operate(short, "slow.verbatim")
			cancel()
			assert.Equal(t, e.Err.Code, dispatch.Timeout)
			after(5 * time.Second)
			for _, name := range []string{"up__nope", "nope", "off__verbatim", "slo__verbatim"} {
				// a name that no starting server can have
				_, err = c.CallTool(t.Context(), name, nil)
				assert.ErrorContains(t, err, "Unknown tool: "+name)
			}
			assert.Equal(t, operate(t.Context(), "up.nope").Err.Code, dispatch.UnknownOperation)
			after(0)
			_, err = c.CallTool(t.Context(), "slow__nope", nil)
			assert.ErrorContains(t, err, "Unknown tool: slow__nope")
			after(10 * time.Second)
		})
		assert.NilError(t, errors.Join(w.gateway.Add(broken), w.gateway.Add(off)))
		time.Sleep(10 * time.Second)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "broken__x", nil)
			assert.ErrorContains(t, err,
				`server "broken" is not available: boom; it restarts in `)
			_, err = c.CallTool(t.Context(), "off__verbatim", nil)
			assert.ErrorContains(t, err, "Unknown tool: off__verbatim")
			e := operate(t.Context(), "broken.x")
			assert.Equal(t, e.Err.Code, dispatch.UpstreamError)
			assert.ErrorContains(t, e.Err,
				`server "broken" is not available: boom; it restarts in `)
		})
	})
}

// A call of a name that a server with known lists does not have says why the server is down, or
// waits for its start, at most 50 s.
func TestUnknownNameOfServerThatIsDown(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		catalog := dispatch.NewCatalog()
		s := w.server("up", w.era)
		s.Digest = "d"
		connect := s.Connect
		o := gateway.Options{CacheDir: t.TempDir(), Catalog: catalog}
		w.reopen(o, s)
		var mode atomic.Value
		mode.Store("down")
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			switch mode.Load() {
			case "down":
				return nil, errors.New("no API key")
			case "slow":
				time.Sleep(20 * time.Second)
			case "hung":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return connect(ctx, session, o)
		}
		d := dispatch.Options{Logger: quiet,
			Missing: func(ctx context.Context, name string) error {
				return w.gateway.AwaitOperation(ctx, name)
			}}.New(catalog)
		operate := func(name string) dispatch.Envelope {
			return d.Dispatch(t.Context(), &dispatch.Call{Operation: name,
				Arguments: json.RawMessage(`{}`), Confirmed: true})
		}
		w.reopen(o, s)
		m := w.gateway.Manager()
		w.client(client.Options{Era: era, CallTimeout: time.Hour}, func(c *client.Client) {
			call := func(name string) error {
				_, err := c.CallTool(t.Context(), name, nil)
				return err
			}
			assert.ErrorContains(t, call("up__nope"), "Unknown tool: up__nope")
			assert.ErrorContains(t, call("up__verbatim"), "no API key")
			for range 2 { // pausing, and failed
				err := call("up__nope")
				refused, ok := errors.AsType[*rpc.Error](err)
				assert.Assert(t, ok && refused.Code == rpc.CodeInternalError, "%v", err)
				assert.ErrorContains(t, err, `server "up" is not available: no API key; it restarts in `)
				_, err = c.GetPrompt(t.Context(), "up__nope", nil)
				assert.ErrorContains(t, err, "no API key")
				e := operate("up.nope")
				assert.Equal(t, e.Err.Code, dispatch.UpstreamError)
				assert.ErrorContains(t, e.Err, "no API key")
				time.Sleep(2 * time.Minute)
			}
			mode.Store("hung")
			assert.NilError(t, m.Restart("up"))
			synctest.Wait()
			began := time.Now()
			err := call("up__nope")
			assert.ErrorContains(t, err, `server "up" is still starting after 50s: try again later`)
			assert.Equal(t, time.Since(began), 50*time.Second)
			mode.Store("slow")
			assert.NilError(t, m.Restart("up"))
			synctest.Wait()
			w.add("more", gives(result))
			began = time.Now()
			assert.NilError(t, call("up__more"))
			assert.Equal(t, time.Since(began), 20*time.Second)
			assert.NilError(t, m.Disable("up"))
			time.Sleep(5 * time.Second)
			assert.ErrorContains(t, call("up__verbatim"),
				`Unknown tool: up__verbatim (server "up": the server is disabled)`)
			assert.Equal(t, operate("up.verbatim").Err.Code, dispatch.StateError)
		})
	})
}
