package lograte

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := Logger(slog.New(slog.NewTextHandler(&out, nil)))
		assert.Assert(t, Logger(l) == l)
		lines := func(write func()) int {
			out.Reset()
			write()
			return strings.Count(out.String(), "\n")
		}
		flood := func(l *slog.Logger, attrs ...any) int {
			return lines(func() {
				for range 10_000 {
					l.Warn("refused", attrs...)
				}
			})
		}
		assert.Equal(t, flood(l, "server", "a"), burst)
		assert.Equal(t, flood(l, "server", "a"), 0)
		assert.Equal(t, flood(l, "server", "b"), burst)
		assert.Equal(t, flood(l.With("server", "c")), burst)
		assert.Equal(t, flood(l.With("server", "c").WithGroup("g")), 0)
		assert.Equal(t, lines(func() { l.Warn("another", "server", "a") }), 1)
		time.Sleep(interval)
		assert.Equal(t, flood(l, "server", "a"), 1)
		assert.Assert(t, strings.Contains(out.String(), "suppressed=19900"), out.String())
		time.Sleep(time.Hour)
		assert.Equal(t, flood(l, "server", "a"), burst)
		many := lines(func() {
			for i := range 10 * maxKinds {
				l.Warn(fmt.Sprint("refused ", i))
			}
		})
		assert.Assert(t, many <= maxKinds+burst, many)
	})
}
