package streamable_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/server/streamable"
)

// An answer of 3 MB may take two minutes, and 256 KiB of it half a minute.
func TestSlowReadersOfLargeResponsesAreDisconnected(t *testing.T) {
	text := strings.Repeat("x", 1_500_000)
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` +
		text + `"}}}`
	for kind, ask := range map[string]func(b *bubble) (string, header){
		"modern": func(*bubble) (string, header) {
			return toolCall("echo", text), modernTool + "echo"
		},
		"modern, stream": func(*bubble) (string, header) {
			return toolCall("echo", text), modernTool + "echo\nAccept: text/event-stream"
		},
		"legacy": func(b *bubble) (string, header) { return legacy, b.connect("2025-06-18") },
		"legacy, stream": func(b *bubble) (string, header) {
			return legacy, b.connect("2025-06-18") + "\nAccept: text/event-stream"
		},
		"legacy, primed": func(b *bubble) (string, header) {
			return legacy, b.connect("2025-11-25") + "\nAccept: text/event-stream"
		},
	} {
		for _, reader := range []struct {
			name  string
			speed int // bytes a second
			cut   time.Duration
		}{
			{"fast enough", 26_000, 0},
			{"too slow in all", 24_000, 2 * time.Minute},
			{"too slow for a piece", 8_000, 30 * time.Second},
		} {
			t.Run(kind+", "+reader.name, func(t *testing.T) {
				inBubble(t, streamable.Options{Heartbeat: time.Hour},
					func(t *testing.T, b *bubble) {
						body, h := ask(b)
						w := b.dial()
						w.send("POST", body, h)
						begin := time.Now()
						a := w.answer()
						var err error
						var n, all int
						for buf := make([]byte, reader.speed); err == nil; all += n {
							time.Sleep(time.Second)
							n, err = io.ReadFull(a.in, buf)
						}
						took := time.Since(begin)
						w.Close()
						synctest.Wait()
						if reader.cut == 0 {
							// the last time, there is less to be read
							assert.Assert(t, errors.Is(err, io.EOF) ||
								err == io.ErrUnexpectedEOF, err)
							assert.Assert(t, all > 3_000_000, "%d bytes", all)
							assert.Assert(t, took < 2*time.Minute, "%v", took)
						} else {
							assert.Assert(t, all < 3_000_000, "%d bytes", all)
							assert.Assert(t, took >= reader.cut &&
								took <= reader.cut+2*time.Second, "%v", took)
						}
						pool := (*quota.Pool)(b.server.Integration().Options().Memory)
						assert.Equal(t, pool.Used(), int64(0))
					})
			})
		}
	}
}
