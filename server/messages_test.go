package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Defect G1 of other implementations: one malformed line ends the session.
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

// Defects G3 and M16 of other implementations: ids are converted to floating point.
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

// Defects G9 and M6 of other implementations: the size of a message is unlimited.
func TestG9MessagesAreBounded(t *testing.T) {
	o := quiet
	o.Limits = rpc.Limits{Limits: framing.Limits{MaxFrame: 10_000}}
	l := dial(t, o, catalog())
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%q}}`,
		strings.Repeat("x", 100_000))
	assert.Assert(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600`),
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
			s.Integration().AddItem(forwarded(mcp.Tool{Name: "big"},
				func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"content":[],"x":"` + strings.Repeat("x", tt.size) +
						`"}`), nil
				})))
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

// Defect M7 of other implementations: requests, responses and notifications of several goroutines
// are interleaved.
func TestM7MessagesAreWhole(t *testing.T) {
	long := strings.Repeat("ä", 20_000)
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		server.Logger(ctx).Info(long)
		said, err := elicitName(ctx)
		return said + long, err
	})
	k := speak(t, s, "2025-11-25", everything)
	k.want("logging/setLevel", `{"level":"info"}`, `{}`)
	const calls = 40
	k.check = nil // it does not support several goroutines
	var answered int
	questions := make(chan message, calls)
	go func() {
		for i := range calls {
			k.stream.Write(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"t"}}`+"\n", i))
		}
		for range calls {
			q := <-questions
			k.stream.Write(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`+"\n", q.ID))
		}
	}()
	for answered < calls {
		switch m := k.next(); {
		case m.Method == "elicitation/create":
			questions <- m
		case m.Method == "":
			m.expectText("cancel " + long)
			answered++
		}
	}
}

// Defect M16 of other implementations: an error response to an unknown request is treated as a
// request, and answered.
func TestM16StrayAnswersAreNotAnswered(t *testing.T) {
	k := speak(t, three(t, quiet), "2025-11-25", `{}`)
	for _, stray := range []string{`"id":99,"error":{"code":1,"message":"m"}`,
		`"id":99,"result":{}`, `"id":null,"error":{"code":1,"message":"m"}`,
		`"id":"x","result":null`} {
		k.write(`{"jsonrpc":"2.0",` + stray + `}`)
	}
	k.expectNothing()
}
