package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A logbook records the log messages that a client gets.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logbook) add(m mcp.LoggingMessageParams) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, fmt.Sprintf("%s %s %s", m.Level, m.Logger, m.Data))
}

// took waits until all goroutines are blocked, and returns the messages since its last call.
func (b *logbook) took() string {
	time.Sleep(time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.lines = nil }()
	return strings.Join(b.lines, ", ")
}

func (b *logbook) options(era mcp.Era, level mcp.LoggingLevel) client.Options {
	return client.Options{Era: era, OnLog: b.add, LogLevel: level}
}

// chatty adds a tool that logs at two levels, with and without the name of a logger.
func (w *fixture) chatty() {
	w.add("chat", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		for _, m := range []mcp.LoggingMessageParams{
			{Level: mcp.LevelDebug, Logger: "db", Data: json.RawMessage(`{"b":1.50,"a":2}`)},
			{Level: mcp.LevelError, Data: json.RawMessage(`"x"`)}} {
			if err := server.Log(ctx, m); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	})
	time.Sleep(5 * time.Second)
}

// A log message during a call goes to the client of the call if it wants messages of that level.
func TestLogsWithinCall(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.chatty()
		var other logbook // a connected client to which the call does not belong
		w.client(other.options(mcp.Legacy, mcp.LevelDebug), func(*client.Client) {
			for level, want := range map[mcp.LoggingLevel]string{
				mcp.LevelDebug:   `debug up/db {"b":1.50,"a":2}, error up "x"`,
				mcp.LevelWarning: `error up "x"`, mcp.LevelCritical: "", "": "",
			} {
				var b logbook
				w.client(b.options(era, level), func(c *client.Client) {
					synctest.Wait()
					for range 2 {
						_, err := c.CallTool(t.Context(), "up__chat", nil)
						assert.NilError(t, err)
						assert.Equal(t, b.took(), want, level)
					}
				})
			}
			assert.Equal(t, other.took(), "")
		})
	})
}

// Outside of calls, legacy clients receive a legacy server's log messages from their levels on. The
// server's level is the most verbose of these, and is lowered after a delay.
func TestLogsOutsideOfCalls(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		w.chatty()
		conns := make(chan *server.Conn, 10)
		levels := make(chan mcp.LoggingLevel, 10)
		defer w.up.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
			switch e {
			case server.ClientReady:
				conns <- c
			case server.ClientLevel:
				levels <- c.LogLevel()
			}
		})()
		up := <-conns
		say := func(level mcp.LoggingLevel) {
			t.Helper()
			assert.NilError(t,
				up.Log(t.Context(),
					mcp.LoggingMessageParams{Level: level, Logger: "l",
						Data: json.RawMessage(`1`)}))
		}
		var debug, errors, assumed, modern logbook
		w.client(assumed.options(mcp.Legacy, ""), func(*client.Client) {
			w.client(modern.options(mcp.Modern, mcp.LevelDebug), func(m *client.Client) {
				w.client(errors.options(mcp.Legacy, mcp.LevelError), func(*client.Client) {
					assert.Equal(t, <-levels, mcp.LevelError)
					w.client(debug.options(mcp.Legacy, mcp.LevelDebug), func(*client.Client) {
						assert.Equal(t, <-levels, mcp.LevelDebug)
						say(mcp.LevelInfo)
						say(mcp.LevelAlert)
						assert.Equal(t, debug.took(), "info up/l 1, alert up/l 1")
						assert.Equal(t, errors.took(), "alert up/l 1")
					})
					time.Sleep(20 * time.Second)
					assert.Equal(t, len(levels), 0)
					assert.Equal(t, <-levels, mcp.LevelError, "nobody wants debug any more")
					_, err := m.CallTool(t.Context(), "up__chat", nil)
					assert.NilError(t, err)
					assert.Equal(t, <-levels, mcp.LevelDebug)
					assert.Equal(t, modern.took(), `debug up/db {"b":1.50,"a":2}, error up "x"`)
					assert.Equal(t, errors.took(), "")
					_, err = m.CallTool(t.Context(), "up__chat", nil)
					assert.NilError(t, err)
					assert.Equal(t, len(levels), 0, "it still does")
					time.Sleep(time.Minute)
					assert.Equal(t, <-levels, mcp.LevelError)
				})
				time.Sleep(time.Minute)
				assert.Equal(t, <-levels, mcp.LevelEmergency, "there is no level for nothing")
				say(mcp.LevelEmergency)
			})
		})
		assert.Equal(t, assumed.took(), "")
		assert.Equal(t, debug.took(), "")
		modern.took()
		assert.Equal(t, len(levels), 0)
	})
}

// At a shared server with calls of two clients, neither client receives the other's logs, progress
// or questions. At servers with host.PerSession each receives its own.
func TestTwoClients(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		for _, perSession := range []bool{false, true} {
			for _, second := range eras {
				w.twoClients(t, era, second, perSession)
			}
		}
	})
}

func (w *fixture) twoClients(t *testing.T, first, second mcp.Era, perSession bool) {
	meet := map[string]chan struct{}{"client0": make(chan struct{}), "client1": make(chan struct{})}
	w.up.Remove(mcp.KindTool, "meet")
	w.add("meet", func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		var in struct{ Who string }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, err
		}
		if _, err := server.Once(ctx, "met", func(context.Context) (int, error) {
			meet[in.Who] <- struct{}{} // both calls are in progress, before and after
			server.Progress(ctx, 1, 2, in.Who)
			_ = server.Log(ctx,
				mcp.LoggingMessageParams{Level: mcp.LevelError,
					Data: fmt.Appendf(nil, "%q", in.Who)})
			meet[in.Who] <- struct{}{}
			return 0, nil
		}); err != nil {
			return nil, err
		}
		roots, err := server.Roots(ctx, "roots")
		if err != nil && w.era == mcp.Modern {
			return nil, err
		}
		if w.era == mcp.Legacy {
			meet[in.Who] <- struct{}{}
		}
		return text("%s %s", in.Who, uris(roots)), nil
	})
	s := w.server("up", w.era)
	if perSession {
		s.Sharing = host.PerSession
	}
	var log lockedbuffer.Buffer
	w.gateway.Close()
	w.gateway = gateway.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(w.downstream)
	assert.NilError(w.t, w.gateway.Add(s))
	time.Sleep(5 * time.Second)

	run := func(era mcp.Era, who string) (logs, result string) {
		var b logbook
		o := b.options(era, mcp.LevelDebug)
		o.Roots = rooted("of-" + who)
		w.client(o, func(c *client.Client) {
			time.Sleep(time.Second)
			r, err := c.CallTool(t.Context(), "up__meet", map[string]string{"who": who},
				client.OnProgress(func(p mcp.ProgressParams) {
					assert.Check(t, p.Message == who)
				}))
			if assert.Check(t, err == nil, "%v", err) {
				result = r.Content[0].(*mcp.TextContent).Text
			}
			logs = b.took()
		})
		return logs, result
	}
	var both sync.WaitGroup
	var logs, results [2]string
	for i, era := range []mcp.Era{first, second} {
		both.Go(func() { logs[i], results[i] = run(era, fmt.Sprint("client", i)) })
	}
	rounds := 2
	if w.era == mcp.Legacy {
		rounds = 3
	}
	for range rounds {
		time.Sleep(time.Minute) // both wait
		<-meet["client0"]
		<-meet["client1"]
	}
	both.Wait()
	for i := range 2 {
		who, want := fmt.Sprint("client", i), ""
		if perSession {
			want = fmt.Sprintf(`error up "%s"`, who)
		}
		assert.Equal(t, logs[i], want)
		switch {
		case perSession || w.era == mcp.Modern:
			assert.Equal(t, results[i], who+" of-"+who)
		default:
			// both clients share the server, so outside of calls it has the roots of all clients
			// that can be asked
			want := map[mcp.Era]string{mcp.Legacy: " of-client0"}[first] +
				map[mcp.Era]string{mcp.Legacy: " of-client1"}[second]
			got := strings.Fields(results[i])
			slices.Sort(got[1:])
			assert.Equal(t, strings.Join(got, " "), who+want)
		}
	}
	astray := strings.Count(log.String(), "log messages are dropped")
	assert.Equal(t, astray, map[bool]int{false: 1, true: 0}[perSession])
}

// A flood of log messages delays no other client and uses bounded memory. The oldest messages are
// dropped and counted.
func TestLogFlood(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		const flood = 20_000
		w.add("flood", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			for i := range flood {
				if err := server.Log(ctx,
					mcp.LoggingMessageParams{Level: mcp.LevelInfo,
						Data: fmt.Appendf(nil, "%d", i)}); err != nil {
					return nil, err
				}
			}
			return text("done"), nil
		})
		assert.NilError(t, w.gateway.Add(w.server("other", w.era)))
		time.Sleep(5 * time.Second)
		var mu sync.Mutex
		got, dropped, last := 0, 0, ""
		o := client.Options{Era: era, LogLevel: mcp.LevelDebug,
			OnRawLog: func(params json.RawMessage) {
				var m mcp.LoggingMessageParams
				assert.Check(t, mcp.Unmarshal(params, &m))
				time.Sleep(time.Millisecond) // a slow reader
				mu.Lock()
				defer mu.Unlock()
				var missing struct{ Dropped int }
				if json.Unmarshal(m.Data, &missing) == nil && missing.Dropped > 0 {
					assert.Check(t, m.Level == mcp.LevelWarning && m.Logger == "up")
					dropped += missing.Dropped
					return
				}
				got, last = got+1, string(m.Data)
			}}
		w.client(o, func(c *client.Client) {
			synctest.Wait()
			began := time.Now()
			_, err := c.CallTool(t.Context(), "up__flood", nil)
			assert.NilError(t, err)
			took := time.Since(began)
			mu.Lock()
			assert.Equal(t, got+dropped, flood)
			assert.Assert(t, dropped > flood/2, dropped)
			assert.Equal(t, last, fmt.Sprint(flood-1))
			mu.Unlock()
			assert.Assert(t, took < 5*time.Second, took)

			began = time.Now()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, err := c.CallTool(t.Context(), "up__flood", nil)
				assert.Check(t, err == nil, "%v", err)
			}()
			_, err = c.CallTool(t.Context(), "other__verbatim", nil)
			assert.NilError(t, err)
			assert.Assert(t, time.Since(began) < time.Second, time.Since(began))
			<-done
		})
	})
}

// A client that does not read its logs delays neither the server nor other clients.
func TestUnreadLogs(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		conns := make(chan *server.Conn, 10)
		defer w.up.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
			if e == server.ClientReady {
				conns <- c
			}
		})()
		up := <-conns
		var b logbook
		release := make(chan struct{})
		stuck := client.Options{Era: mcp.Legacy, LogLevel: mcp.LevelDebug,
			OnRawLog: func(json.RawMessage) { <-release }}
		w.client(stuck, func(*client.Client) {
			w.client(b.options(mcp.Legacy, mcp.LevelDebug), func(c *client.Client) {
				synctest.Wait()
				for i := range 1000 {
					assert.NilError(t,
						up.Log(t.Context(),
							mcp.LoggingMessageParams{Level: mcp.LevelInfo,
								Data: fmt.Appendf(nil, "%d", i)}))
					synctest.Wait()
				}
				assert.Equal(t, strings.Count(b.took(), "info up"), 1000)
				_, err := c.CallTool(t.Context(), "up__verbatim", nil)
				assert.NilError(t, err)
			})
			close(release)
		})
	})
}

// A modern server's log message for a request that has ended is dropped.
func TestLateLogs(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.add("late", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			_ = server.Log(context.WithoutCancel(ctx),
				mcp.LoggingMessageParams{Level: mcp.LevelError, Data: json.RawMessage(`1`)})
			return nil, ctx.Err()
		})
		time.Sleep(5 * time.Second)
		var b logbook
		w.client(b.options(mcp.Legacy, mcp.LevelDebug), func(c *client.Client) {
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := c.CallTool(ctx, "up__late", nil)
			assert.Assert(t, err != nil)
			time.Sleep(5 * time.Second)
			assert.Equal(t, b.took(), "")
		})
	})
}

// A client that stops reading during a call with many log messages does not block Close.
func TestCloseWithUnreadLogs(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("flood", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			for ctx.Err() == nil {
				_ = server.Log(ctx,
					mcp.LoggingMessageParams{Level: mcp.LevelError,
						Data: fmt.Appendf(nil, "%q", strings.Repeat("x", 100_000))})
				time.Sleep(time.Second)
			}
			return nil, ctx.Err()
		})
		time.Sleep(5 * time.Second)
		release := make(chan struct{})
		o := client.Options{Era: era, LogLevel: mcp.LevelDebug,
			OnRawLog: func(json.RawMessage) { <-release }}
		var calling sync.WaitGroup
		w.client(o, func(c *client.Client) {
			synctest.Wait()
			calling.Go(func() {
				_, err := c.CallTool(t.Context(), "up__flood", nil)
				assert.Check(t, err != nil)
			})
			time.Sleep(time.Minute)
			began := time.Now()
			w.gateway.Close()
			assert.Assert(t, time.Since(began) < 5*time.Second, time.Since(began))
			close(release)
		})
		calling.Wait()
	})
}

// Invalid log messages are dropped.
func TestInvalidLogs(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		var b logbook
		w.client(b.options(mcp.Legacy, mcp.LevelDebug), func(*client.Client) {
			synctest.Wait() // the client has set its level
			scripted := make(chan string)
			s := w.scripted("odd", scripted)
			assert.NilError(t, w.gateway.Add(s))
			var all []string
			for range 10 { // some messages are still in the queue when the last one arrives
				for _, params := range []string{`[]`, `{}`, `{"level":"loud","data":1}`,
					`{"level":"error"}`, `{"level":"error","data":1,"logger":7}`} {
					all = append(all, `{"jsonrpc":"2.0","method":"notifications/message","params":`+
						params+`}`)
				}
			}
			all = append(all,
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":null,"x":[1.0],"_meta":{"a/b":1}}}`)
			scripted <- strings.Join(all, "\n")
			close(scripted)
			assert.Equal(t, b.took(), "error odd null")
		})
	})
}

// scripted is a legacy server that sends these lines once it is initialized.
func (w *fixture) scripted(id string, lines <-chan string) gateway.Upstream {
	s := w.server(id, mcp.Legacy)
	s.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
		return o.Connect(ctx, w.script(lines))
	}
	return s
}

// script answers initialize, and no other request.
func (w *fixture) script(lines <-chan string) client.Transport {
	clientEnd, serverEnd := net.Pipe()
	w.serving.Go(func() {
		in := bufio.NewScanner(serverEnd)
		for in.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			assert.Check(w.t, json.Unmarshal(in.Bytes(), &m))
			switch m.Method {
			case mcp.MethodInitialize:
				fmt.Fprintf(serverEnd,
					`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"s","version":"1"}}}`+
						"\n", m.ID)
			case mcp.NotificationInitialized:
				w.serving.Go(func() {
					for line := range lines {
						fmt.Fprintln(serverEnd, line)
					}
				})
			default:
				if m.ID != nil {
					fmt.Fprintf(serverEnd, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
				}
			}
		}
	})
	return client.Stream(clientEnd)
}
