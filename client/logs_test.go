package client

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestLogs(t *testing.T) {
	logs := make(chan mcp.LoggingMessageParams, 1)
	connect(t, Options{OnLog: func(m mcp.LoggingMessageParams) { logs <- m }}, func(s *scripted) {
		s.legacy()
		s.notify("notifications/message", `[]`) // invalid params
		s.notify("notifications/message", `{"level":"error","logger":"db","data":{"a":1.0}}`)
	})
	m := <-logs
	assert.Equal(t, m.Level, mcp.LevelError)
	assert.Equal(t, m.Logger, "db")
	assert.Equal(t, string(m.Data), `{"a":1.0}`)
}

// A flood of messages neither delays a call, nor ends the connection, nor uses unlimited memory.
// The newest messages are delivered.
func TestLogFlood(t *testing.T) {
	for name, test := range map[string]struct {
		size, want int
	}{"many": {10, 256}, "large": {300 << 10, 3}, "huge": {3 << 20, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const flood = 1000
				n := min(flood, 20<<20/test.size)
				got := []string{}
				c, err := Options{OnLog: func(m mcp.LoggingMessageParams) {
					got = append(got, m.Logger)
					time.Sleep(time.Second)
				}}.Connect(t.Context(), stream(func(s *scripted) {
					s.modern()
					m := s.read()
					s.notify("notifications/message", `{"level":"info","logger":"first","data":0}`)
					time.Sleep(time.Millisecond)
					for i := range n {
						s.notify("notifications/message",
							fmt.Sprintf(`{"level":"info","logger":"%d","data":"%s"}`, i+1,
								pad(test.size)))
					}
					s.reply(m, `{"content":[]}`)
				}))
				assert.NilError(t, err)
				began := time.Now()
				_, err = c.CallTool(t.Context(), "t", nil)
				assert.NilError(t, err)
				assert.Equal(t, time.Since(began), time.Millisecond)
				assert.Equal(t, c.Stats().DroppedLogs, n-test.want)
				shut(t, c)
				assert.Equal(t, len(got), 1+test.want) // the remaining messages are delivered
				assert.Equal(t, got[0], "first")
				assert.Equal(t, got[len(got)-1], fmt.Sprint(n))
			})
		})
	}
}

func TestPanickingLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		calls := 0
		c, err := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnLog: func(mcp.LoggingMessageParams) { calls++; panic("boom") }}.
			Connect(t.Context(), stream(func(s *scripted) {
				s.modern()
				s.notify("notifications/message", `{"level":"info","data":1}`)
				s.notify("notifications/message", `{"level":"info","data":2}`)
			}))
		assert.NilError(t, err)
		synctest.Wait()
		shut(t, c)
		assert.Equal(t, calls, 2)
		assert.Equal(t, strings.Count(log.String(), "callback=OnLog panic=boom"), 2)
	})
}

func TestLogLevelModern(t *testing.T) {
	levels := make(chan string, 4)
	c := connect(t, Options{LogLevel: mcp.LevelWarning}, func(s *scripted) {
		for m := s.read(); m.line != ""; m = s.read() {
			_, level, _ := strings.Cut(string(m.Params), `"io.modelcontextprotocol/logLevel":`)
			levels <- level
			if m.Method == "server/discover" {
				s.reply(m, discovered)
			} else {
				s.reply(m, `{"content":[]}`)
			}
		}
	})
	call := func() {
		_, err := c.CallTool(t.Context(), "t", nil)
		assert.NilError(t, err)
	}
	call()
	assert.NilError(t, c.SetLogLevel(t.Context(), mcp.LevelDebug))
	call()
	assert.NilError(t, c.SetLogLevel(t.Context(), ""))
	call()
	assert.DeepEqual(t, []string{<-levels, <-levels, <-levels, <-levels},
		[]string{"", `"warning"}}`, `"debug"}}`, ""})
}

func TestLogLevelLegacy(t *testing.T) {
	const canLog = `{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"x","version":"1"}}`
	asked := make(chan string, 2)
	c := connect(t, Options{Era: mcp.Legacy, LogLevel: mcp.LevelWarning}, func(s *scripted) {
		s.reply(s.read(), canLog)
		for m := s.read(); m.line != ""; m = s.read() {
			if m.Method == "logging/setLevel" {
				asked <- string(m.Params)
				s.reply(m, `{}`)
			}
		}
	})
	assert.Equal(t, <-asked, `{"level":"warning"}`)
	assert.NilError(t, c.SetLogLevel(t.Context(), mcp.LevelDebug))
	assert.Equal(t, <-asked, `{"level":"debug"}`)
}

// A server without logging gets no log level, and a server that refuses the level does not disturb
// the connection.
func TestLogLevelRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := Options{Era: mcp.Legacy, LogLevel: "loud",
			Logger: slog.New(slog.NewTextHandler(&log, nil))}
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			s.reply(s.read(),
				`{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"x","version":"1"}}`)
			s.read()
			s.refuse(s.read(), -32602, "no such level")
		}))
		assert.NilError(t, err)
		synctest.Wait()
		shut(t, c)
		assert.Assert(t, strings.Contains(log.String(), "no such level"), log.String())

		c, err = o.Connect(t.Context(), stream(func(s *scripted) {
			s.reply(s.read(), initialized)
			s.read()
			assert.Check(t, s.read().line == "")
		}))
		assert.NilError(t, err)
		synctest.Wait()
		shut(t, c)
	})
}

// If a client is closed before the server has responded to the log level, no warning is logged.
func TestLogLevelUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warned bytes.Buffer
		closed := make(chan struct{})
		o := Options{LogLevel: mcp.LevelError, Logger: slog.New(slog.NewTextHandler(&warned, nil))}
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			s.refuse(s.read(), -32601, "Method not found")
			s.reply(s.read(),
				strings.Replace(initialized, `"capabilities":{`, `"capabilities":{"logging":{},`,
					1))
			s.read() // notifications/initialized
			s.read() // logging/setLevel
			<-closed
		}))
		assert.NilError(t, err)
		go c.CallTool(t.Context(), "unread", nil) // this blocks Close
		synctest.Wait()
		shut(t, c)
		close(closed)
		assert.Equal(t, warned.String(), "")
	})
}
