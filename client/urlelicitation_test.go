package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/internal/urlelicitation"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// needs returns the error of a server that sends the user to web pages.
func needs(ids ...string) string {
	pages := make([]string, len(ids))
	for i, id := range ids {
		pages[i] = fmt.Sprintf(
			`{"mode":"url","elicitationId":%q,"url":"https://example.com/%s","message":"Go"}`, id,
			id)
	}
	return `{"error":{"code":-32042,"message":"Go first","data":{"elicitations":[` +
		strings.Join(pages, ",") + `]}}}`
}

// user returns options of a user who gives the answers by id, and accepts all others. The ids are
// recorded in order.
func user(asked *[]string, answers map[string]mcp.ElicitAction) Options {
	var mu sync.Mutex
	return Options{ElicitModes: []string{mcp.ElicitURL},
		OnElicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			mu.Lock()
			*asked = append(*asked, p.ElicitationID)
			mu.Unlock()
			if p.Mode != mcp.ElicitURL || p.URL != "https://example.com/"+p.ElicitationID {
				return nil, errors.New("no page")
			}
			if action, ok := answers[p.ElicitationID]; ok {
				return &mcp.ElicitResult{Action: action}, nil
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}}
}

// elicitingServer returns a worker that requires URL elicitations: it answers the calls in turn,
// and sends the completions at their times.
func elicitingServer(over map[time.Duration]string, calls ...string) *worker {
	w := &worker{era: mcp.Legacy, answers: map[string][]string{"tools/call": calls}}
	started := false
	w.meet = func(s *scripted, m message) bool {
		if !started {
			started = true
			for when, id := range over {
				time.AfterFunc(when, func() {
					s.notify("notifications/elicitation/complete",
						fmt.Sprintf(`{"elicitationId":%q}`, id))
				})
			}
		}
		return false
	}
	return w
}

func TestURLElicitations(t *testing.T) {
	for name, test := range map[string]struct {
		over        map[time.Duration]string
		calls       []string
		asked, said string
	}{
		"done": {map[time.Duration]string{7 * time.Second: "a"},
			[]string{needs("a"), plain}, "a", "tools/call@0s tools/call@7s"},
		"several": {
			map[time.Duration]string{3 * time.Second: "b", 7 * time.Second: "a"},
			[]string{needs("a", "b"), plain}, "a b", "tools/call@0s tools/call@7s"},
		"others do not count": {
			map[time.Duration]string{3 * time.Second: "x", 7 * time.Second: "a"},
			[]string{needs("a"), plain}, "a", "tools/call@0s tools/call@7s"},
		"another elicitation": {
			map[time.Duration]string{3 * time.Second: "a", 7 * time.Second: "b"},
			[]string{needs("a"), needs("a", "b"), plain}, "a b",
			"tools/call@0s tools/call@3s tools/call@7s"},
		"never told": {nil, []string{needs("a"), needs("a"), needs("a"), plain}, "a",
			"tools/call@0s tools/call@15s tools/call@45s tools/call@1m45s"},
		"never told, renewed": {nil, []string{needs("a"), needs("b"), needs("c"), plain}, "a",
			"tools/call@0s tools/call@15s tools/call@45s tools/call@1m45s"},
		"told after a try": {map[time.Duration]string{20 * time.Second: "a"},
			[]string{needs("a"), needs("a"), plain}, "a",
			"tools/call@0s tools/call@15s tools/call@20s"},
		"renewed after a try": {
			map[time.Duration]string{20 * time.Second: "a", 23 * time.Second: "c"},
			[]string{needs("a"), needs("b"), needs("c"), plain}, "a c",
			"tools/call@0s tools/call@15s tools/call@20s tools/call@23s"},
		"one of two, after a try": {
			map[time.Duration]string{3 * time.Second: "a", 20 * time.Second: "b"},
			[]string{needs("a", "b"), needs("b"), plain}, "a b",
			"tools/call@0s tools/call@15s tools/call@20s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				w := elicitingServer(test.over, test.calls...)
				_, err := w.connect(t, user(&asked, nil)).CallTool(t.Context(), "t",
					map[string]int{"n": 1})
				assert.NilError(t, err)
				assert.Equal(t, len(asked), len(strings.Fields(test.asked)))
				for _, id := range strings.Fields(test.asked) {
					assert.Assert(t, strings.Contains(strings.Join(asked, " "), id), "%v", asked)
				}
				assert.Equal(t, w.said(), test.said)
				for _, params := range w.params("tools/call") {
					assert.Equal(t, params, `{"name":"t","arguments":{"n":1}}`)
				}
			})
		})
	}
}

// Any request may be rejected with this error.
func TestURLElicitationOfAnotherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := elicitingServer(map[time.Duration]string{time.Second: "a"})
		w.answers["x/y"] = []string{needs("a"), `{"z":1}`}
		raw, err := w.connect(t, user(&asked, nil)).Call(t.Context(), "x/y", nil)
		assert.NilError(t, err)
		assert.Equal(t, string(raw), `{"z":1}`)
	})
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := elicitingServer(map[time.Duration]string{time.Second: "a"}, needs("a"), oldCreated)
		task, err := w.connect(t, user(&asked, nil)).StartTool(t.Context(), "t", nil)
		assert.NilError(t, err)
		assert.Equal(t, task.ID(), "T")
		assert.Equal(t, w.said(), "tools/call@0s tools/call@1s")
	})
}

// A completion counts even if it arrives early: while the user is asked, and before the error was
// read.
func TestURLElicitationCompletedEarly(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			var server *scripted
			calls := 0
			w := &worker{era: mcp.Legacy}
			w.meet = func(s *scripted, m message) bool {
				server = s
				if calls++; calls == 1 {
					if early {
						s.notify("notifications/elicitation/complete", `{"elicitationId":"a"}`)
					}
					w.reply(s, m, needs("a"))
				} else {
					s.reply(m, plain)
				}
				return true
			}
			o := Options{ElicitModes: []string{mcp.ElicitURL},
				OnElicitComplete: func(id string) { told = append(told, id) }}
			o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if !early {
					server.notify("notifications/elicitation/complete", `{"elicitationId":"a"}`)
				}
				time.Sleep(time.Second)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
			}
			c := w.connect(t, o)
			_, err := c.CallTool(t.Context(), "t", nil)
			assert.NilError(t, err)
			assert.Equal(t, w.said(), "tools/call@0s tools/call@1s")
			synctest.Wait()
			assert.DeepEqual(t, told, []string{"a"})
			// A later elicitation with the same id is a new one: the earlier completion does not
			// count.
			calls, early = 0, false
			w.reset()
			_, err = c.CallTool(t.Context(), "t", nil)
			assert.NilError(t, err)
			assert.Equal(t, w.said(), "tools/call@0s tools/call@1s")
			synctest.Wait()
			assert.DeepEqual(t, told, []string{"a", "a"})
		})
	}
}

// Without a callback, or if the user declines, the call returns the server's error unchanged.
func TestURLElicitationRefused(t *testing.T) {
	nobody := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return nil, errors.New("should not have been asked")
	}
	var asked []string
	long := make([]string, maxRequiredElicitations+1)
	for i := range long {
		long[i] = fmt.Sprint("x", i)
	}
	urls := []string{mcp.ElicitForm, mcp.ElicitURL}
	for name, test := range map[string]struct {
		o      Options
		opts   []CallOption
		answer string
	}{
		"declined": {user(&asked, map[string]mcp.ElicitAction{"a": mcp.ElicitDecline}),
			nil, needs("b", "a")},
		"cancelled": {user(&asked, map[string]mcp.ElicitAction{"a": mcp.ElicitCancel}),
			nil, needs("a")},
		"no callback": {Options{}, nil, needs("a")},
		"forms only":  {Options{OnElicit: nobody}, nil, needs("a")},
		"by hand": {Options{OnElicit: nobody, ElicitModes: urls}, []CallOption{ReturnInputRequests()},
			needs("a")},
		"no elicitations": {Options{OnElicit: nobody, ElicitModes: urls}, nil, needs()},
		"without an id":   {Options{OnElicit: nobody, ElicitModes: urls}, nil, needs("a", "")},
		"a form": {Options{OnElicit: nobody, ElicitModes: urls}, nil,
			strings.Replace(needs("a"), `"url",`, `"form",`, 1)},
		"no data": {Options{OnElicit: nobody, ElicitModes: urls}, nil,
			failure(-32042, "Go first")},
		"data that are none": {Options{OnElicit: nobody, ElicitModes: urls}, nil,
			`{"error":{"code":-32042,"message":"Go first","data":7}}`},
		"too many": {Options{OnElicit: nobody, ElicitModes: urls}, nil, needs(long...)},
		"an endless id": {Options{OnElicit: nobody, ElicitModes: urls}, nil,
			needs(pad(urlelicitation.MaxID + 1))},
	} {
		t.Run(name, func(t *testing.T) {
			w := elicitingServer(nil, test.answer)
			_, err := w.connect(t, test.o).CallTool(t.Context(), "t", nil, test.opts...)
			assert.Error(t, err, `server "server": tool "t": Go first (code -32042)`)
			refusal, ok := errors.AsType[*rpc.Error](err)
			assert.Assert(t, ok)
			var data mcp.URLElicitationRequiredData
			if bad := mcp.Unmarshal(refusal.Data, &data); !strings.Contains(name, "data") {
				assert.NilError(t, bad)
				assert.Equal(t, len(data.Elicitations), strings.Count(test.answer, "elicitationId"))
			}
			assert.Equal(t, len(w.params("tools/call")), 1)
		})
	}
	t.Run("modern", func(t *testing.T) { // the modern era does not have this error
		w := elicitingServer(nil, needs("a"))
		w.era = 0
		_, err := w.connect(t, Options{OnElicit: nobody, ElicitModes: urls}).CallTool(t.Context(), "t",
			nil)
		assert.Error(t, err, `server "server": tool "t": Go first (code -32042)`)
	})
}

// A call fails with the server's error if the server never accepts it, and at once if the server
// contradicts itself.
func TestURLElicitationsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := &worker{era: mcp.Legacy}
		w.meet = func(s *scripted, m message) bool {
			n++
			id := fmt.Sprint("e", n)
			w.reply(s, m, needs(id))
			s.notify("notifications/elicitation/complete", fmt.Sprintf(`{"elicitationId":%q}`, id))
			return true
		}
		var asked []string
		_, err := w.connect(t, user(&asked, nil)).CallTool(t.Context(), "t", nil)
		assert.Error(t, err, `server "server": tool "t": Go first (code -32042)`)
		assert.Equal(t, len(asked), maxRounds)
		assert.Equal(t, n, maxRounds+1)
	})
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := elicitingServer(map[time.Duration]string{time.Second: "a"}, needs("a"))
		_, err := w.connect(t, user(&asked, nil)).CallTool(t.Context(), "t", nil)
		assert.Error(t, err, `server "server": tool "t": Go first (code -32042)`)
		assert.Equal(t, w.said(), "tools/call@0s tools/call@1s")
	})
}

// The events that end a call while the client waits for a completion.
func TestURLElicitationEnds(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		end  func(cancel func(), c *Client, s *scripted)
		want string
		is   error
		took time.Duration
	}{
		"ctx": {func(cancel func(), _ *Client, _ *scripted) { cancel() },
			"context canceled after 5s", context.Canceled, 5 * time.Second},
		"close": {func(_ func(), c *Client, _ *scripted) { _ = c.Close() },
			"the client is closed", rpc.ErrClosed, 5 * time.Second},
		"hang up": {func(_ func(), _ *Client, s *scripted) { s.out.Close() },
			"closed the connection", rpc.ErrClosed, 5 * time.Second},
		"timeout": {func(func(), *Client, *scripted) {},
			"no answer to the URL elicitation after 5m0s; the server last sent something 1m15s ago",
			context.DeadlineExceeded, 5 * time.Minute},
		"fails": {nil, `the server's question "a" (elicitation/create) was not answered: boom`,
			boom, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				var server *scripted
				w := elicitingServer(nil, needs("a"))
				o := user(&asked, nil)
				if test.end == nil {
					o.OnElicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
						error) {
						return nil, boom
					}
				}
				c, err := o.Connect(t.Context(),
					stream(func(s *scripted) { server = s; w.script(s) }))
				assert.NilError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.end != nil {
					time.AfterFunc(5*time.Second, func() { test.end(cancel, c, server) })
				}
				began := time.Now()
				_, err = c.CallTool(ctx, "t", nil)
				assert.Error(t, err, `server "server": tool "t": `+test.want)
				assert.ErrorIs(t, err, test.is)
				assert.Equal(t, time.Since(began), test.took)
				assert.Assert(t, len(w.params("tools/call")) < 6)
				_ = c.Close()
				_ = c.Wait()
			})
		})
	}
}

// The application is notified once of the completion of each elicitation that it was asked about,
// and of no others, however many arrive.
func TestElicitComplete(t *testing.T) {
	var told, asked atomic.Int32
	over, answered := make(chan bool), make(chan bool)
	connect(t, Options{ElicitModes: []string{mcp.ElicitURL},
		OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}, OnElicitComplete: func(id string) {
			if told.Add(1); id == "last" {
				close(over)
			} else if id != "a" {
				t.Error("told of", id)
			}
		}}, func(s *scripted) {
		s.legacy()
		ask := func(id string) {
			s.send(`{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"mode":"url","elicitationId":%q,"url":"https://example.com/","message":"Go"}}`+
				"\n", id)
			s.read()
		}
		for _, params := range []string{`{"elicitationId":"unknown"}`, `{"elicitationId":7}`, `{}`,
			`[]`, `{"elicitationId":"` + pad(urlelicitation.MaxID+1) + `"}`} {
			s.notify("notifications/elicitation/complete", params)
		}
		ask("a")
		s.notify("notifications/elicitation/complete", `{"elicitationId":"a"}`)
		s.notify("notifications/elicitation/complete", `{"elicitationId":"a"}`)
		for i := range 3 * 1024 {
			s.notify("notifications/elicitation/complete",
				fmt.Sprintf(`{"elicitationId":"unknown %d"}`, i))
		}
		s.notify("notifications/elicitation/complete", `{"elicitationId":"last"}`)
		ask("last") // an elicitation that was complete before
		close(answered)
	})
	<-over
	<-answered
	assert.Equal(t, asked.Load(), int32(2))
	assert.Equal(t, told.Load(), int32(2))
}
