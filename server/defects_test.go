package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The defects of other implementations, as far as a server on a stream can have them. The letters G
// and M stand for two implementations.

// A blocking server has, in every place, a handler that runs until it is cancelled. It reports when
// the handler begins and why it ends.
type blocking struct {
	*server.Server
	begun chan struct{}
	ended chan error
}

func blocks(o server.Options) blocking {
	b := blocking{begun: make(chan struct{}, 100), ended: make(chan error, 100)}
	b.Server = everywhere(o, func(ctx context.Context) (string, error) {
		b.begun <- struct{}{}
		<-ctx.Done()
		b.ended <- context.Cause(ctx)
		return "", ctx.Err()
	})
	return b
}

// G1: one malformed line ends the session.
func TestG1MalformedLinesAreAnswered(t *testing.T) {
	l := dial(t, quiet, catalog())
	_ = l.stream.SetReadDeadline(time.Now().Add(patience))
	// determines the framing
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
	for line, want := range map[string]string{
		`{`:        `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`nonsense`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		"\x00\xff": `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"\xff"`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`,
		`7`:  `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`[]`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"jsonrpc":"1.0","id":5,"method":"ping"}`:               `{"jsonrpc":"2.0","id":5,"error":{"code":-32600`,
		`{"id":6,"method":"ping"}`:                               `{"jsonrpc":"2.0","id":6,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:              `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":7,"method":7}`:                    `{"jsonrpc":"2.0","id":7,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":8,"method":"ping","params":"x"}`:  `{"jsonrpc":"2.0","id":8,"error":{"code":-3260`,
		`{"jsonrpc":"2.0","id":9,"id":10,"method":"ping"}`:       `,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":11,"method":"ping","method":"x"}`: `,"error":{"code":-32600`,
		strings.Repeat("[",
			5000): `{"jsonrpc":"2.0","id":null,"error":{"code":-32`,
	} {
		got := l.ask("%s", line)
		assert.Assert(t, strings.Contains(got, want), "%s: %s", line, got)
	}
	l.send("\n  ")
	l.send(`{}`) // without a method and an id there is no response
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// G2, M5: a panic in a tool ends the process, or gets no response; in a resource or a prompt it
// ends the process.
func TestG2PanicsAreAnswered(t *testing.T) {
	s := everywhere(quiet, func(context.Context) (string, error) { panic("secret") })
	inPlaces(t, func(t *testing.T, p place) {
		in(t, allRevisions, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			m := k.request(p.method, p.params)
			assert.Equal(t, string(m.ID), fmt.Sprint(k.id))
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
			if p == places["operation"] {
				assert.Assert(t, strings.Contains(m.raw, `internal_error`), m.raw)
			} else {
				m.fails(-32603, "Internal error")
			}
			k.expectNothing()
		})
	})
}

// G3, M16: ids are converted to floating point.
func TestG3IdsAreEchoed(t *testing.T) {
	l := dial(t, quiet, catalog())
	l.initialize("2025-11-25")
	for _, id := range []string{`9007199254740993`, `-9223372036854775809`, `1.5`, `1.50`, `1e3`,
		`-1`, `0`, `""`, `"1"`, `"\u0061\/"`, `"ä"`} {
		assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id),
			`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		got := l.ask(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":"Oslo"}}}`,
			id)
		assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result":{`), got)
		got = l.ask(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"none"}}`, id)
		assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"error":{`), got)
	}
	// Subscriptions are identified by the exact text of their ids.
	for _, id := range []string{`9007199254740993`, `9007199254740992`, `"9007199254740993"`} {
		got := l.ask(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"_meta":{`+
			modern+`},"notifications":{}}}`, id)
		assert.Assert(t,
			strings.HasSuffix(got, `"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}}`),
			got)
	}
}

// G4: a second subscription replaces the first, and cancelling one ends the other.
func TestG4SubscriptionsAreTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, newest, `{}`)
		for range 3 {
			k.request("subscriptions/listen",
				`{"notifications":{"resourceSubscriptions":["x:1"]}}`).expectMethod(acknowledged, "")
		}
		synctest.Wait()
		hear := func(ids ...int) {
			t.Helper()
			s.ResourceUpdated("x:1")
			var want, got []string
			for _, id := range ids {
				want = append(want,
					fmt.Sprintf(`{"uri":"x:1","_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`,
						id))
				got = append(got, string(k.next().expectMethod(updated, "").Params))
			}
			slices.Sort(got)
			assert.DeepEqual(t, got, want)
			time.Sleep(time.Second)
			k.expectNothing()
		}
		hear(1, 2, 3)
		for i, left := range [][]int{{1, 3}, {3}, {}} {
			k.write(fmt.Sprintf(
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
				[]int{2, 1, 3}[i]))
			synctest.Wait()
			hear(left...)
		}
	})
}

// G5: the cache scope of a handler is overwritten with "public".
func TestG5CacheScopeIsKept(t *testing.T) {
	o := quiet
	o.PublicLists = true
	s := made(o, func(s *server.Server) {
		r := resource("x:1")
		r.Read = func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			result := text(uri, "mine")
			result.CacheHints = mcp.CacheHints{TTLMs: new(int64(5000)),
				CacheScope: mcp.CachePrivate}
			return result, nil
		}
		must(t, s.AddResource(r))
	})
	m := speak(t, s, newest, `{}`).request("resources/read", `{"uri":"x:1"}`)
	assert.Assert(t, strings.Contains(m.raw, `"ttlMs":5000,"cacheScope":"private"`), m.raw)
}

// G6: a handler that asks a legacy client twice fails, and messages for modern clients are sent to
// a legacy one.
func TestG6LegacyClientIsAskedTwice(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		for _, key := range []string{"a", "b", "c"} {
			if _, err := server.Elicit(ctx, key,
				mcp.ElicitParams{Message: key,
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{}}`)}); err != nil {
				return "", err
			}
		}
		return "all three", nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, "2025-06-18", everything)
		k.start(p.method, p.params)
		for range 3 {
			k.reply(k.next().expectMethod("elicitation/create", ""), `{"action":"accept"}`)
		}
		m := k.next()
		m.expectText("all three")
		assert.Assert(t, !strings.Contains(m.raw, "inputRequests") &&
			!strings.Contains(m.raw, "resultType"), m.raw)
	})
}

// G7, M4: a slow handler delays later messages, even its own cancellation.
func TestG7SlowHandlersDelayNobody(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
			s := blocks(quiet)
			k := speak(t, s.Server, revision, `{}`)
			for range 10 {
				k.start(p.method, p.params)
				<-s.begun
			}
			k.expectNothing()
			assert.Assert(t, k.request("tools/list", "").Result != nil)
			first := k.id - 11
			for i := range 10 {
				k.write(fmt.Sprintf(
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
					first+i))
				assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
			}
			k.expectNothing() // none of them gets a response
		})
	})
}

// G8: the number of waiting and running requests is unlimited.
func TestG8WhatRunsAndWaitsIsBounded(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{MaxRunning: 2, MaxQueued: 3}
	s := blocks(o)
	k := speak(t, s.Server, "2025-11-25", `{}`)
	for range 2 {
		k.start("tools/call", `{"name":"t"}`)
		<-s.begun
	}
	for range 3 {
		k.start("tools/call", `{"name":"t"}`)
	}
	k.expectError("tools/call", `{"name":"t"}`, rpc.CodeBusy, "too many requests wait already")
	k.expectError("ping", "", rpc.CodeBusy, "too many requests wait already")
	for id := 6; id >= 2; id-- { // first those that wait: they never run
		k.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	for range 2 {
		assert.ErrorIs(t, <-s.ended, rpc.ErrCancelled)
	}
	for m := k.request("ping", ""); m.Error != nil; m = k.request("ping", "") {
		m.fails(rpc.CodeBusy, "") // they are about to end
	}
	assert.Equal(t, len(s.begun), 0)
}

// G9, M6: the size of a message is unlimited.
func TestG9MessagesAreBounded(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{Limits: framing.Limits{MaxFrame: 10_000}}
	l := dial(t, o, catalog())
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%q}}`,
		strings.Repeat("x", 100_000))
	assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`),
		got)
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`),
		`{"jsonrpc":"2.0","id":2,"result":{}}`)
	// A result that is too large is not sent, and its caller gets an error.
	got = l.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":%q},"_meta":{%s}}}`,
		strings.Repeat("x", 9000), modern)
	assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":3,"error":{"code":-32603`), got)
}

// A message that some clients cannot receive is sent to no client, unless the application permits
// it. The caller gets an error.
func TestLargeResults(t *testing.T) {
	for _, tt := range []struct {
		limits framing.Limits
		size   int
		sent   bool
	}{
		{framing.Limits{}, 10<<20 - 256<<10, true},
		{framing.Limits{}, 10 << 20, false},
		{framing.Limits{MaxAppend: 11 << 20}, 10 << 20, true},
		{framing.Limits{MaxFrame: 1 << 20}, 1 << 20, false},
	} {
		o := quiet
		o.Limits.Limits = tt.limits
		s := made(o)
		assert.NilError(t,
			s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "big"},
				Forward: func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"content":[],"x":"` + strings.Repeat("x", tt.size) +
						`"}`), nil
				}}))
		l := connect(t, s)
		got := l.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"big","_meta":{%s}}}`,
			modern)
		if tt.sent {
			assert.Assert(t, len(got) > tt.size, "%.100s", got)
		} else {
			assert.Assert(t,
				strings.HasPrefix(got,
					`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"the answer cannot be sent: framing: frame of 1`),
				"%.200s", got)
		}
		assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`),
			`{"jsonrpc":"2.0","id":4,"result":{}}`)
	}
}
