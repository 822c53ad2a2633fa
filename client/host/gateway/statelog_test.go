package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Each start, stop and failure of a server is one line of the log, also if no client asks for it.
// What the program does with the manager is not logged: it knows who has asked for it.
func TestChangesOfStateAreLogged(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.gateway.Close()
		var logged lockedbuffer.Buffer
		seen := 0
		w.gateway = gateway.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}.New(
			w.downstream)
		s := w.server("up", mcp.Modern)
		connect, down := s.Connect, new(atomic.Bool)
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			if down.Load() {
				return nil, errors.New("exited with status 3: boom")
			}
			return connect(ctx, session, o)
		}
		const (
			started = `level=INFO msg="gateway: a server has started" server=up`
			stopped = `level=INFO msg="gateway: a server has stopped" server=up`
			failed  = `level=WARN msg="gateway: a server has failed and starts again soon" server=up error=`
			paused  = `level=WARN msg="gateway: a server has failed too often and pauses" server=up error=`
		)
		for _, step := range []struct {
			what string
			do   func()
			wait time.Duration
			want []string
		}{
			{"add", func() { assert.NilError(t, w.gateway.Add(s)) }, time.Second,
				[]string{started}},
			{"no use", func() {}, 11 * time.Minute, []string{stopped}},
			{"restart", func() { assert.NilError(t, w.gateway.Manager().Restart("up")) },
				time.Second, []string{started}},
			{"restart of a running server",
				func() { assert.NilError(t, w.gateway.Manager().Restart("up")) }, time.Second,
				[]string{stopped, started}},
			{"end", w.die, 3 * time.Second, []string{failed, started}},
			{"ends until the pause", func() {
				down.Store(true)
				w.die()
			}, time.Minute, []string{failed, failed, failed, paused}},
			{"next try", func() {}, 5 * time.Minute, []string{paused}},
			{"disable", func() { assert.NilError(t, w.gateway.Manager().Disable("up")) },
				10 * time.Minute, nil},
			{"enable", func() {
				down.Store(false)
				assert.NilError(t, w.gateway.Manager().Enable("up"))
			}, time.Second, []string{started}},
			{"remove", func() { w.gateway.Remove("up") }, time.Second, []string{stopped}},
			{"close", func() {
				assert.NilError(t, w.gateway.Add(s))
				time.Sleep(time.Second)
				w.gateway.Close()
			}, time.Second, []string{started}},
		} {
			step.do()
			time.Sleep(step.wait)
			text := logged.String()[seen:]
			seen += len(text)
			lines := slices.Collect(strings.Lines(text))
			assert.Equal(t, len(lines), len(step.want), "%s: %s", step.what, text)
			for i, line := range lines {
				assert.Assert(t, cmp.Contains(line, step.want[i]), step.what)
				if strings.HasSuffix(step.want[i], "error=") {
					assert.Assert(t, cmp.Contains(line, " next_try=20"), step.what)
				}
			}
			if step.what == "next try" {
				assert.Assert(t, cmp.Contains(text, "exited with status 3: boom"))
			}
		}
	})
}
