package gateway_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An auditWriter is the writer of the audit log. It can be full or blocked.
type auditWriter struct {
	mu    sync.Mutex
	text  []byte
	room  int           // bytes; -1: unlimited
	stuck chan struct{} // blocks writes until it is closed
}

func (d *auditWriter) Write(p []byte) (int, error) {
	d.mu.Lock()
	stuck := d.stuck
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(p)
	if d.room >= 0 {
		n = min(n, d.room)
		d.room -= n
	}
	d.text = append(d.text, p[:n]...)
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (d *auditWriter) set(room int, stuck chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room, d.stuck = room, stuck
}

// lines returns the written lines, after all pending ones were written.
func (d *auditWriter) lines() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Split(strings.TrimSuffix(string(d.text), "\n"), "\n")
}

// auditClient is what each line of a client on a stream has.
var auditClient = regexp.MustCompile(
	`"client":\{"name":"[^"]+"(,"version":"[^"]+")?\},"session":"[A-Z2-7]{26}",`)

// take returns the lines since its last call, without their times, clients and sessions.
func (d *auditWriter) take(t *testing.T) (all []string) {
	t.Helper()
	for _, line := range d.lines() {
		rest, ok := strings.CutPrefix(line, `{"time":"2000-01-01T00:00:`)
		assert.Assert(t, ok && json.Valid([]byte(line)), line)
		_, rest, _ = strings.Cut(rest, ",")
		rest = auditClient.ReplaceAllString(rest, "")
		all = append(all, "{"+rest)
	}
	d.mu.Lock()
	d.text = nil
	d.mu.Unlock()
	return all
}

// auditKey is the key of the digests that sum computes.
var auditKey = []byte("0123456789abcdef0123456789abcdef")

func sum(text string) string {
	mac := hmac.New(sha256.New, auditKey)
	mac.Write([]byte(text))
	return fmt.Sprintf("%x", mac.Sum(nil))
}

func TestAudit(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("fail", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(1500 * time.Millisecond)
			return json.RawMessage(`{"resultType":"complete","content":[],"isError":true}`), nil
		})
		w.add("refuse", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, rpc.Errorf(4242, "secret reason")
		})
		w.add("hang", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		w.add("ask", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			_, err := server.Elicit(ctx, "k",
				mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			return json.RawMessage(`{"resultType":"complete","content":[]}`), err
		})
		w.readable()
		d := &auditWriter{room: -1}
		deny := before(func(_ context.Context, e *dispatch.Invocation) error {
			assert.Check(t, e.RequestID != "")
			switch {
			case bytes.Contains(e.Arguments, []byte(`"deny"`)):
				return errors.New("no")
			case bytes.Contains(e.Arguments, []byte(`"oops"`)):
				panic("oops")
			case bytes.Contains(e.Arguments, []byte(`"change"`)):
				e.Arguments = json.RawMessage(`{}`)
			}
			return nil
		})
		s := w.server("up", w.era)
		s.MaxArguments = 100
		w.reopen(gateway.Options{Audit: d, AuditKey: auditKey,
			Interceptors: []dispatch.Interceptor{deny}}, s)
		o := client.Options{Era: era, Info: mcp.Implementation{Name: "a\u202eb\nc", Version: "1"},
			OnElicit: mcptest.Answers[mcp.ElicitParams](t,
				&mcp.ElicitResult{Action: mcp.ElicitDecline})}
		w.client(o, func(c *client.Client) {
			none := `"arguments_size":2,"arguments_hmac":"` + sum("{}") + `","duration_ms":0`
			for _, tt := range []struct{ tool, arguments, want string }{
				{"verbatim", `{"z":"x\u0041","a":[1,2.50],"o":{},"t":true,"n":null}`,
					`"tool":"verbatim","arguments":[{"name":"z","type":"string","size":9},{"name":"a","type":"array","size":8},` +
						`{"name":"o","type":"object","size":2},{"name":"t","type":"boolean","size":4},{"name":"n","type":"null","size":4}],"arguments_size":53,"arguments_hmac":"` +
						sum(`{"a":[1,2.50],"n":null,"o":{},"t":true,"z":"xA"}`) +
						`","duration_ms":0,"outcome":"ok","result_size":` +
						fmt.Sprint(len(result))},
				{"fail", `{"i":7}`,
					`"tool":"fail","arguments":[{"name":"i","type":"number","size":1}],"arguments_size":7,"arguments_hmac":"` +
						sum(`{"i":7}`) +
						`","duration_ms":1500,"outcome":"tool_error","result_size":53`},
				{"refuse", `{}`, `"tool":"refuse",` + none + `,"outcome":"error","code":4242`},
				{"verbatim", `{"change":1}`, `"tool":"verbatim",` + none +
					`,"outcome":"ok","result_size":` + fmt.Sprint(len(result))},
				{"verbatim", `{"deny":1}`,
					`"tool":"verbatim","arguments":[{"name":"deny","type":"number","size":1}],"arguments_size":10,"arguments_hmac":"` +
						sum(`{"deny":1}`) +
						`","duration_ms":0,"outcome":"refused","refused_by":"before"`},
				{"verbatim", `{"oops":1}`,
					`"tool":"verbatim","arguments":[{"name":"oops","type":"number","size":1}],"arguments_size":10,"arguments_hmac":"` +
						sum(`{"oops":1}`) +
						`","duration_ms":0,"outcome":"error","code":-32603`},
				{"verbatim", `{"x":"` + strings.Repeat("x", 93) + `"}`,
					`"tool":"verbatim","arguments":[{"name":"x","type":"string","size":95}],"arguments_size":101,"arguments_hmac":"` +
						sum(`{"x":"`+strings.Repeat("x", 93)+`"}`) +
						`","duration_ms":0,"outcome":"refused","refused_by":"limit"`},
			} {
				_, _ = c.CallToolRaw(t.Context(), "up__"+tt.tool, json.RawMessage(tt.arguments))
				assert.DeepEqual(t, d.take(t), []string{`{"server":"up",` + tt.want + `}`})
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.CallToolRaw(ctx, "up__hang", nil)
			assert.Assert(t, err != nil)
			assert.DeepEqual(t, d.take(t),
				[]string{`{"server":"up","tool":"hang",` +
					strings.Replace(none, "_ms\":0", "_ms\":1000", 1) + `,"outcome":"cancelled"}`})

			_, err = c.CallToolRaw(t.Context(), "up__ask", nil)
			assert.NilError(t, err)
			assert.DeepEqual(t, d.take(t),
				[]string{`{"server":"up","tool":"ask",` + none + `,"outcome":"input_required"}`,
					`{"server":"up","tool":"ask","resumed":true,` + none +
						`,"outcome":"ok","result_size":38}`})

			_, err = c.ReadResource(t.Context(), "mem://a")
			assert.NilError(t, err)
			line := d.lines()[0]
			assert.Assert(t, auditClient.MatchString(line), line)
			assert.Assert(t, cmp.Contains(line, `{"name":"a\\u202eb c","version":"1"}`))
			_, err = c.GetPrompt(t.Context(), "up__greet", map[string]string{"who": "Ada"})
			assert.NilError(t, err)
			got := d.take(t)
			assert.Assert(t,
				strings.HasPrefix(got[0],
					`{"server":"up","uri":"mem://a","duration_ms":0,"outcome":"ok","result_size":`),
				got[0])
			want := `{"server":"up","prompt":"greet","arguments":[{"name":"who","type":"string","size":5}],"arguments_size":13,"arguments_hmac":"` +
				sum(`{"who":"Ada"}`) + `",`
			assert.Assert(t,
				strings.HasPrefix(got[1], want+`"duration_ms":0,"outcome":"ok","result_size":`),
				got[1])
		})
	})
}

// The audit log contains argument values only with AuditValues. It truncates names, and omits the
// digest of arguments with a duplicate member.
func TestAuditValues(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		d := &auditWriter{room: -1}
		w.reopen(gateway.Options{Audit: d, AuditValues: true}, w.server("up", w.era))
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallToolRaw(t.Context(), "up__verbatim",
				json.RawMessage(`{"a":"x","a":"y"}`))
			assert.NilError(t, err)
			assert.DeepEqual(t, d.take(t),
				[]string{`{"server":"up","tool":"verbatim","arguments":[{"name":"a","type":"string","size":3},{"name":"a","type":"string","size":3}],"arguments_size":17,` +
					`"arguments_values":{"a":"x","a":"y"},"duration_ms":0,"outcome":"ok","result_size":` +
					fmt.Sprint(len(result)) + `}`})
			many := map[string]int{}
			for i := range 100 {
				many[fmt.Sprintf("%03d%s", i, strings.Repeat("n", 1000))] = i
			}
			_, err = c.CallToolRaw(t.Context(), "up__verbatim", many)
			assert.NilError(t, err)
			var e struct {
				Arguments []struct{ Name string }
				LeftOut   int            `json:"arguments_left_out"`
				Values    map[string]int `json:"arguments_values"`
			}
			assert.NilError(t, json.Unmarshal([]byte(d.take(t)[0]), &e))
			assert.Assert(t, len(e.Arguments) == 64 && e.LeftOut == 36 &&
				e.Arguments[0].Name == "000"+strings.Repeat("n", 125)+"…")
			assert.DeepEqual(t, e.Values, many)
		})
	})
}

// The digest of short arguments cannot be found by hashing guesses, because it has a key. Gateways
// with the same key write the same digests.
func TestAuditDigests(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		digest := func(pin string, o gateway.Options) string {
			t.Helper()
			d := &auditWriter{room: -1}
			o.Audit = d
			w.reopen(o, w.server("up", w.era))
			w.client(client.Options{}, func(c *client.Client) {
				for range 2 {
					_, err := c.CallToolRaw(t.Context(), "up__verbatim",
						map[string]string{"pin": pin})
					assert.NilError(t, err)
				}
			})
			all := regexp.MustCompile(
				`"arguments_[a-z0-9]+":"([0-9a-f]{64})"`).FindAllStringSubmatch(
				strings.Join(d.take(t), "\n"), -1)
			assert.Equal(t, len(all), 2)
			assert.Equal(t, all[0][1], all[1][1], "the same arguments")
			return all[0][1]
		}
		const pin = "471"
		first := digest(pin, gateway.Options{})
		for guess := range 1000 {
			text := fmt.Sprintf(`{"pin":"%03d"}`, guess)
			assert.Assert(t, fmt.Sprintf("%x", sha256.Sum256([]byte(text))) != first,
				"found by trying: %s", text)
		}
		assert.Assert(t, digest(pin, gateway.Options{}) != first,
			"each gateway has a key of its own")
		kept := digest(pin, gateway.Options{AuditKey: auditKey})
		assert.Equal(t, digest(pin, gateway.Options{AuditKey: auditKey}), kept)
		assert.Assert(t, digest("472", gateway.Options{AuditKey: auditKey}) != kept)
	})
}

// The audit log contains the principal of the transport.
func TestAuditPrincipal(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		d := &auditWriter{room: -1}
		w.reopen(gateway.Options{Audit: d}, w.server("up", w.era))
		m, err := rpc.ParseMessage(
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__verbatim","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientCapabilities":{}}}}`))
		assert.NilError(t, err)
		_, _ = rpc.AppendResponse(t.Context(), nil,
			func(ctx context.Context, r *rpc.Request) (any, error) {
				return w.as("ada").Handle(ctx, r, nil)
			}, m.Request())
		got := d.take(t)
		assert.Assert(t, strings.HasPrefix(got[0], `{"principal":"ada","server":"up",`), got[0])
	})
}

// Errors of the audit log fail no call, and lost lines are counted.
func TestAuditWriteErrors(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		d := &auditWriter{room: -1}
		w.reopen(gateway.Options{Audit: d}, w.server("up", w.era))
		w.client(client.Options{}, func(c *client.Client) {
			call := func() {
				t.Helper()
				_, err := c.CallToolRaw(t.Context(), "up__verbatim", nil)
				assert.NilError(t, err)
				synctest.Wait()
			}
			call()
			d.set(10, nil) // in the middle of a line
			call()
			call()
			d.set(0, nil)
			call()
			d.set(-1, nil)
			call()
			lines := d.lines()
			assert.Equal(t, len(lines), 4, strings.Join(lines, "\n"))
			assert.Equal(t, lines[1], lines[0][:10])
			assert.Assert(t, cmp.Contains(lines[2], `"tool":"verbatim"`))
			assert.Assert(t, strings.HasSuffix(lines[3], `"dropped":3}`), lines[3])
		})
	})
}

func TestAuditBlockedWrite(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		stuck := make(chan struct{})
		d := &auditWriter{room: -1, stuck: stuck}
		w.reopen(gateway.Options{Audit: d, AuditValues: true}, w.server("up", w.era))
		big := map[string]string{"x": strings.Repeat("x", 1<<20-100)}
		const calls = 10
		w.client(client.Options{}, func(c *client.Client) {
			for range calls {
				_, err := c.CallToolRaw(t.Context(), "up__verbatim", big)
				assert.NilError(t, err)
				synctest.Wait()
			}
		})
		d.set(-1, nil)
		close(stuck)
		lines := d.lines()
		const waiting = 3 // lines of 1 MiB each; one more is being written
		assert.Equal(t, len(lines), 1+waiting+1)
		assert.Assert(t,
			strings.HasSuffix(lines[len(lines)-1], fmt.Sprintf(`"dropped":%d}`, calls-waiting-1)))

		stuck = make(chan struct{})
		d.set(-1, stuck)
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallToolRaw(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
		})
		began := time.Now()
		w.gateway.Close()
		assert.Equal(t, time.Since(began), 5*time.Second, "no longer than that")
		close(stuck)
		synctest.Wait()
		w.gateway = gateway.Options{Logger: quiet}.New(w.downstream) // for the cleanup of the test
	})
}

// Close returns after all lines are written.
func TestAuditClose(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		var log bytes.Buffer
		r, to := io.Pipe()
		w.gateway.Close()
		w.gateway = gateway.Options{Audit: to, Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelWarn}))}.New(w.downstream)
		assert.NilError(t, w.gateway.Add(w.server("up", w.era)))
		time.Sleep(5 * time.Second)
		w.client(client.Options{}, func(c *client.Client) {
			for range 3 {
				_, err := c.CallToolRaw(t.Context(), "up__verbatim", nil)
				assert.NilError(t, err)
			}
		})
		var text []byte
		var reading sync.WaitGroup
		reading.Go(func() {
			time.Sleep(4 * time.Second) // a slow write
			text, _ = io.ReadAll(r)
		})
		w.gateway.Close()
		assert.NilError(t, to.Close())
		reading.Wait()
		assert.Equal(t, bytes.Count(text, []byte("\n")), 3)
		assert.Equal(t, log.String(), "")
		w.gateway = gateway.Options{Logger: quiet}.New(w.downstream)
	})
}
