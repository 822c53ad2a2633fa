package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// withListFault runs a test with a gateway with pins and a cache, whose server "up" has a tool, a
// prompt, a resource and a template. If fault returns an error, it is the answer to a request of
// the gateway. reopen starts the gateway again.
func withListFault(t *testing.T, fault func(ctx context.Context, method string) error,
	test func(t *testing.T, w *fixture, reopen func(), logged *bytes.Buffer)) {
	dir := t.TempDir()
	for _, era := range eras {
		t.Run(era.String(), func(t *testing.T) {
			pins, err := pin.Open(filepath.Join(dir, era.String(), "pins.json"))
			assert.NilError(t, err)
			withFixture(t, era, func(t *testing.T, w *fixture) {
				w.replaceUp(server.Options{Logger: quiet,
					Middleware: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
						return func(ctx context.Context, req *rpc.Request) (any, error) {
							if err := fault(ctx, req.Method); err != nil {
								return nil, err
							}
							return next(ctx, req)
						}
					}}}.New(server.Info{Name: "up", Version: "1"}, dispatch.NewCatalog()))
				w.up.Integration().Declare(mcp.KindResource, mcp.KindPrompt)
				w.add("verbatim", gives(result))
				w.readable()
				var logged bytes.Buffer
				reopen := func() {
					w.gateway.Close()
					o := gateway.Options{PinFile: pins.Path(),
						CacheDir: filepath.Join(dir, era.String()),
						Logger:   slog.New(slog.NewTextHandler(&logged, nil))}
					w.gateway = o.New(w.downstream)
					s := w.server("up", era)
					s.Digest = "d"
					assert.NilError(t, w.gateway.Add(s))
				}
				reopen()
				test(t, w, reopen, &logged)
			})
		})
	}
}

// A list that the server does not return disables no item of another list, is logged once, and is
// tried again after growing pauses.
func TestFailingListDisablesNothingElse(t *testing.T) {
	for _, failing := range []string{mcp.MethodListTools, mcp.MethodListPrompts,
		mcp.MethodListResources} {
		t.Run(failing, func(t *testing.T) {
			var fails atomic.Bool
			fails.Store(true)
			var attempts atomic.Int64
			withListFault(t, func(_ context.Context, method string) error {
				if method == failing && fails.Load() {
					attempts.Add(1)
					return rpc.Errorf(rpc.CodeInternalError, "the database is down")
				}
				return nil
			}, func(t *testing.T, w *fixture, reopen func(), logged *bytes.Buffer) {
				check := func(c *client.Client, all bool) {
					t.Helper()
					ctx := t.Context()
					if all || failing != mcp.MethodListTools {
						_, err := c.CallTool(ctx, "up__verbatim", nil)
						assert.NilError(t, err)
					}
					if all || failing != mcp.MethodListPrompts {
						_, err := c.GetPrompt(ctx, "up__greet", map[string]string{"who": "x"})
						assert.NilError(t, err)
					}
					if all || failing != mcp.MethodListResources {
						_, err := c.ReadResource(ctx, "mem://a")
						assert.NilError(t, err)
					}
					_, err := c.ReadResource(ctx, "mem://all/x") // of a template
					assert.NilError(t, err)
				}
				defer fails.Store(true)
				w.gateway.Settle(t.Context())
				for range 2 {
					w.client(client.Options{}, func(c *client.Client) { check(c, false) })
					reopen() // what was read is cached, and the rest is fetched
					w.gateway.Settle(t.Context())
				}
				synctest.Wait()
				logged.Reset()
				attempts.Store(0)
				reopen()
				w.gateway.Settle(t.Context())
				time.Sleep(9 * time.Minute) // less than IdleStop
				synctest.Wait()
				assert.Equal(t, strings.Count(logged.String(), "cannot be fetched"), 1)
				assert.Assert(t, cmp.Contains(logged.String(), "the database is down"))
				n := attempts.Load()
				assert.Assert(t, n > 7 && n < 12, "%d attempts", n)
				assert.Equal(t, w.state("up"), host.Ready)
				fails.Store(false)
				time.Sleep(5 * time.Minute)
				w.client(client.Options{}, func(c *client.Client) { check(c, true) })
				time.Sleep(11 * time.Minute)
				assert.Equal(t, w.state("up"), host.Stopped)
			})
		})
	}
}

// The repetition of a fetch is not a use of the server, which would prevent IdleStop, and does not
// start it.
func TestFailingListKeepsNoServerRunning(t *testing.T) {
	withListFault(t, func(_ context.Context, method string) error {
		if method == mcp.MethodListPrompts {
			return rpc.Errorf(rpc.CodeInternalError, "there are none")
		}
		return nil
	}, func(t *testing.T, w *fixture, _ func(), _ *bytes.Buffer) {
		time.Sleep(11 * time.Minute)
		assert.Equal(t, w.state("up"), host.Stopped)
		time.Sleep(time.Hour)
		assert.Equal(t, w.state("up"), host.Stopped)
	})
}

// A call waits for the list of its own kind only.
func TestCallDoesNotWaitForOtherLists(t *testing.T) {
	for _, hanging := range []string{mcp.MethodListTools, mcp.MethodListPrompts,
		mcp.MethodListResources} {
		t.Run(hanging, func(t *testing.T) {
			withListFault(t, func(ctx context.Context, method string) error {
				if method == hanging {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}, func(t *testing.T, w *fixture, reopen func(), _ *bytes.Buffer) {
				for range 2 {
					w.client(client.Options{}, func(c *client.Client) {
						began := time.Now()
						if hanging != mcp.MethodListTools {
							_, err := c.CallTool(t.Context(), "up__verbatim", nil)
							assert.NilError(t, err)
						}
						if hanging != mcp.MethodListPrompts {
							_, err := c.GetPrompt(t.Context(), "up__greet",
								map[string]string{"who": "x"})
							assert.NilError(t, err)
						}
						assert.Equal(t, time.Since(began), time.Duration(0))
						w.add("more", gives(result)) // its announcement is handled meanwhile
						defer w.up.Remove(mcp.KindTool, "more")
						if hanging != mcp.MethodListTools {
							time.Sleep(time.Second)
							_, err := c.CallTool(t.Context(), "up__more", nil)
							assert.NilError(t, err)
						}
					})
					reopen()
				}
			})
		})
	}
}

// A call whose own list cannot be fetched is refused, because its definition may have changed.
func TestCallNeedsItsList(t *testing.T) {
	var fails atomic.Bool
	withListFault(t, func(_ context.Context, method string) error {
		if method == mcp.MethodListTools && fails.Load() {
			return rpc.Errorf(rpc.CodeInternalError, "the database is down")
		}
		return nil
	}, func(t *testing.T, w *fixture, reopen func(), _ *bytes.Buffer) {
		fails.Store(false)
		w.gateway.Settle(t.Context())
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
			reopen()
			w.gateway.Settle(t.Context())
			fails.Store(true)
			_, err = c.CallTool(t.Context(), "up__verbatim", nil)
			assert.ErrorContains(t, err, "it cannot be compared with its pin")
			assert.ErrorContains(t, err, "the database is down")
			fails.Store(false)
			_, err = c.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
		})
	})
}

// A server that announces changes all the time, disables and restarts end no fetch twice, and leave
// no goroutine.
func TestListsOfChangingServer(t *testing.T) {
	withListFault(t, func(ctx context.Context, method string) error { return nil },
		func(t *testing.T, w *fixture, _ func(), _ *bytes.Buffer) {
			m := w.gateway.Manager()
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					w.add("more"+strings.Repeat("x", i), gives(result))
					assert.Check(t, m.Disable("up"))
					assert.Check(t, m.Enable("up"))
					err := m.Restart("up")
					assert.Check(t, err == nil || errors.Is(err, host.ErrDisabled))
					_ = w.gateway.Refresh(t.Context(), "up")
				})
			}
			wg.Wait()
			assert.NilError(t, m.Enable("up"))
			assert.NilError(t, w.gateway.Refresh(t.Context(), "up"))
			synctest.Wait()
			assert.Equal(t, w.gateway.Tools()["up"], 21)
		})
}
