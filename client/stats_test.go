package client

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Lines that real servers print between their messages do not disturb a call.
func TestStats(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) {
		s.send("Starting server…\r\n\r\n")
		s.modern()
		m := s.read()
		s.send("\x1b[31mDEBUG\x1b[0m {not json}\n")
		s.send(`{"level":30,"msg":"a log line that is JSON"}` + "\n")
		s.send(`[1,2]` + "\n" + `"text"` + "\n" + `{"a":` + "\n")
		s.send("\xff\xfe\n")
		for range 10 {
			s.send("%s\n", pad(300))
		}
		s.send(`{"jsonrpc":"2.0","id":99,"result":{}}` + "\n")    // an unknown id
		s.send(`{"jsonrpc":"2.0","id":"9","result":{}}` + "\n")   // an unknown id
		s.send(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")     // answered before
		s.send(`{"jsonrpc":"2.0","method":"who/knows"}` + "\n")   // ignored
		s.send(`{"jsonrpc":"2.0","id":%s,"re`, m.ID)              // incomplete
		s.send(`sult":{"content":[]}}` + "\r\n")                  // the rest
		s.send(`{"jsonrpc":"2.0","id":%s,"result":7}`+"\n", m.ID) // a duplicate
		s.reply(s.read(), `{"content":[]}`)
	})
	for range 2 {
		_, err := c.CallTool(t.Context(), "t", nil)
		assert.NilError(t, err)
	}
	n := c.Stats()
	assert.Equal(t, n.Junk, 17)
	assert.Equal(t, n.Unmatched, 4)
	assert.DeepEqual(t, n.Samples[:7],
		[]string{"Starting server…", "DEBUG {not json}",
			`{"level":30,"msg":"a log line that is JSON"}`, `[1,2]`, `"text"`, `{"a":`, "\uFFFD"})
	assert.Equal(t, len(n.Samples), 10)
	assert.Equal(t, n.Samples[9], pad(199)+"…")
	n.Samples[0] = "" // a copy
	assert.Equal(t, c.Stats().Samples[0], "Starting server…")
}

// Some servers write the id 1 as "1", and some as 1.0.
func TestOtherIDs(t *testing.T) {
	var heard atomic.Int32
	o := Options{}
	o.Hooks.OtherID = func([]byte) { heard.Add(1) }
	c := connect(t, o, func(s *scripted) {
		m := s.read()
		s.send(`{"jsonrpc":"2.0","id":"%s","error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		m = s.read()
		s.send(`{"jsonrpc":"2.0","id":%s.0,"result":%s}`+"\n", m.ID, initialized)
		s.read()
		m = s.read()
		s.send(`{"jsonrpc":"2.0","id":"0%s","result":{"content":[]}}`+"\n", m.ID) // another text
		s.send(`{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}`+"\n", m.ID)
		s.send(`{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}`+"\n", m.ID) // a duplicate
		s.reply(s.read(), `{"content":[]}`)
		s.hold()
	})
	for range 2 {
		_, err := c.CallTool(t.Context(), "t", nil)
		assert.NilError(t, err)
	}
	n := c.Stats()
	assert.Equal(t, n.OtherIDs, 3)
	assert.Equal(t, n.Unmatched, 2)
	assert.Equal(t, heard.Load(), int32(3))
}

// The error of a call says that responses came, whose ids match nothing.
func TestTimeoutWithOtherIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{StartTimeout: time.Second, Era: mcp.Legacy}
		_, err := o.Connect(t.Context(), stream(func(s *scripted) {
			for m := s.read(); m.line != ""; m = s.read() {
				s.send(`{"jsonrpc":"2.0","id":"r%s","result":{}}`+"\n", m.ID)
			}
		}))
		assert.ErrorContains(t, err, "of its responses match no request by their id")
		failure, ok := errors.AsType[*StartError](err)
		assert.Assert(t, ok)
		assert.Assert(t, strings.Contains(failure.Hint, "as it came"), failure.Hint)
	})
}

// A response to a call that has timed out is no reason for the next timeout: its id is right.
func TestTimeoutAfterLateResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Options{}, func(s *scripted) {
			s.modern()
			m := s.read()
			s.read() // notifications/cancelled
			s.reply(m, `{"content":[]}`)
			s.hold()
		})
		for range 2 {
			_, err := c.CallTool(t.Context(), "t", nil, Timeout(time.Second))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Assert(t, !strings.Contains(err.Error(), "match no request"), "%v", err)
			synctest.Wait()
		}
		assert.Equal(t, c.Stats().Late, 1)
		assert.Equal(t, c.Stats().Unmatched, 0)
	})
}

// JavaScript cuts surrogate pairs in half. The client still accepts the response.
func TestBrokenUnicode(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		for _, text := range []string{`cut \ud83d`, `\\ud83d \ud83d\ude00 \udE00\ud83D.`,
			"latin-1 \xe5"} {
			s.reply(s.read(), `{"content":[{"type":"text","text":"`+text+`"}]}`)
		}
	})
	var got []string
	for range 3 {
		r, err := c.CallTool(t.Context(), "t", nil)
		assert.NilError(t, err)
		got = append(got, r.Content[0].(*mcp.TextContent).Text)
	}
	assert.DeepEqual(t, got,
		[]string{"cut \uFFFD", "\\ud83d \U0001F600 \uFFFD\uFFFD.", "latin-1 \uFFFD"})
	assert.Equal(t, c.Stats().Repaired, 3)
	assert.Equal(t, c.Stats().Junk, 0)
}

func TestServerRequests(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		request string
		want    string
	}{
		"ping": {Options{}, `"id":"p","method":"ping"`,
			`{"jsonrpc":"2.0","id":"p","result":{}}`},
		"roots": {Options{Roots: []mcp.Root{{URI: "file:///a", Name: "a"}}},
			`"id":1,"method":"roots/list"`,
			`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a","name":"a"}]}}`},
		"no roots": {Options{Roots: []mcp.Root{}}, `"id":1,"method":"roots/list"`,
			`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`},
		"roots not offered": {Options{}, `"id":1,"method":"roots/list"`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: this client does not serve roots/list"}}`},
		"sampling": {Options{}, `"id":7.5,"method":"sampling/createMessage","params":{}`,
			`{"jsonrpc":"2.0","id":7.5,"error":{"code":-32601,"message":"Method not found: this client does not serve sampling/createMessage"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			answers := make(chan string, 2)
			connect(t, test.options, func(s *scripted) {
				probe := s.read()
				s.send("{\"jsonrpc\":\"2.0\",%s}\n", test.request) // before the handshake
				answers <- s.read().line
				s.refuse(probe, -32601, "no")
				s.reply(s.read(), initialized)
				s.read()
				s.send("{\"jsonrpc\":\"2.0\",%s}\n", test.request) // outside of a call
				answers <- s.read().line
			})
			assert.Equal(t, <-answers, test.want)
			assert.Equal(t, <-answers, test.want)
		})
	}
}
