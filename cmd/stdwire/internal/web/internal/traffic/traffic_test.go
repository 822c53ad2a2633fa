package traffic

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/rpc"
)

// recordFrames records frames of a client and a server, each with "→" or "←" before it.
func recordFrames(t *Traffic, lane string, frames ...string) {
	var o client.Options
	end := t.Record(lane, &o)
	for _, text := range frames {
		direction := rpc.Inbound
		if strings.HasPrefix(text, "→") {
			direction = rpc.Outbound
		}
		o.Hooks.Frame(context.Background(), direction, []byte(text[len("→"):]))
	}
	end() // waits until all are recorded
}

// What belongs to a call, in both eras, is found.
func TestRelatedMessages(t *testing.T) {
	traffic := New(changes.New())
	recordFrames(traffic, "modern",
		`→{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}`,
		`→{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}`,
		`←{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`,
		`←{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, // of which one?
		`←{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`,
		`→{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","requestState":"s"}}`,
		`←{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no"}}`,
		`←{"jsonrpc":"2.0","id":3,"result":{"isError":true}}`,
		`←what is this`,
	)
	recordFrames(traffic, "legacy",
		`→{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`,
		`←{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`,
		`→{"jsonrpc":"2.0","id":1,"result":{}}`,
		`→{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`←{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, // of a later one
	)
	var lines []string
	for _, m := range traffic.After(0, 100).Messages {
		lines = append(lines, fmt.Sprintf("%d %s %s %s of %d within %d %s", m.N, m.Lane, m.Kind,
			m.Method, m.Request, m.Call, m.Failed))
	}
	assert.Equal(t, strings.Join(lines, "\n"), `1 modern request tools/call of 0 within 0 
2 modern request tools/call of 0 within 0 
3 modern notification notifications/progress of 0 within 1 
4 modern notification notifications/message of 0 within 0 
5 modern response tools/call of 1 within 0 
6 modern request tools/call of 0 within 1 
7 modern response tools/call of 2 within 0 error -32000
8 modern response tools/call of 6 within 0 isError
9 modern junk  of 0 within 0 
10 legacy request tools/call of 0 within 0 
11 legacy request elicitation/create of 0 within 10 
12 legacy response elicitation/create of 11 within 10 
13 legacy notification notifications/cancelled of 0 within 10 
14 legacy notification notifications/message of 0 within 0 `)
	assert.DeepEqual(t, traffic.Search("RequestState"), []int64{5, 6})
	assert.DeepEqual(t, traffic.Search("nowhere"), []int64{})
	_, err := traffic.Message(15)
	assert.ErrorContains(t, err, "there is no message 15")
}

// What relates messages does not keep their texts, and the values that are shown count.
func TestRelatedTextsAreBounded(t *testing.T) {
	traffic := New(changes.New())
	long := `"` + strings.Repeat("x", 100_000) + `"`
	recordFrames(traffic, "modern",
		`→{"jsonrpc":"2.0","id":`+long+`,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":`+long+`}}}`,
		`←{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+long+`,"progress":1}}`,
		`←{"jsonrpc":"2.0","id":`+long+`,"result":{"resultType":"input_required","requestState":`+long+`}}`,
		`→{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":`+long+`}}`)
	page := traffic.After(0, 10)
	assert.Equal(t, len(page.Messages), 4)
	assert.Equal(t, page.Messages[1].Call, int64(1))
	assert.Equal(t, page.Messages[3].Call, int64(1))
	c := traffic.connections[0]
	for key := range c.rounds {
		assert.Assert(t, len(key) < 50)
	}
	for key := range c.tokens {
		assert.Assert(t, len(key) < 50)
	}
	assert.Assert(t, page.Messages[0].cost() > 2*100_000+int64(len(page.Messages[0].ID)))
}

// A server that sends much displaces its own messages, and not those of others.
func TestTrafficIsBounded(t *testing.T) {
	traffic := New(changes.New())
	traffic.limits = limits{messages: 100, bytes: 50_000}
	quiet, long := `→{"jsonrpc":"2.0","method":"quiet"}`, `→{"jsonrpc":"2.0","method":"`+strings.Repeat("x", 200)+`"}`
	recordFrames(traffic, "quiet", quiet, quiet)
	var many []string
	for range 1000 {
		many = append(many, long)
	}
	recordFrames(traffic, "loud", many...)
	page := traffic.After(0, 10_000)
	assert.Equal(t, page.Lanes["quiet"], lanePage{First: 1})
	kept := len(page.Messages) - 2
	assert.Assert(t, kept > 10 && kept < 70, "%d", kept)
	assert.Equal(t, page.Lanes["loud"].Lost, int64(1000-kept))
	assert.Assert(t, traffic.bytes <= traffic.limits.bytes)
	assert.Equal(t, page.Last, int64(1002))
	next := traffic.After(page.Messages[10].N, 5)
	assert.Equal(t, len(next.Messages), 5)
	assert.Equal(t, next.Messages[0].N, page.Messages[11].N)
	for i := range maxLanes + 10 {
		recordFrames(traffic, fmt.Sprint(i), quiet)
	}
	assert.Equal(t, len(traffic.lanes), maxLanes)
	traffic.Clear()
	assert.Equal(t, len(traffic.After(0, 10).Messages), 0)
}

// A recording of the page is one of stdwire tap, and says what it lacks.
func TestRecordings(t *testing.T) {
	traffic := New(changes.New())
	traffic.limits.messages = 3
	recordFrames(traffic, "a",
		`→{"jsonrpc":"2.0","id":1,"method":"x"}`, `←{"jsonrpc":"2.0","id":1,"result":{"n": 1}}`,
		`→{"jsonrpc":"2.0","id":2,"method":"x"}`, `←{"jsonrpc":"2.0","id":2,"result":{"n":9007199254740993}}`)
	c, err := traffic.Connection(1)
	assert.NilError(t, err)
	var b bytes.Buffer
	assert.NilError(t, traffic.WriteRecording(&b, c))
	assert.Assert(t, cmp.Contains(b.String(), `"kind":"dropped","lost":1`))
	assert.Assert(t, cmp.Contains(b.String(), `"frame":{"jsonrpc":"2.0","id":1,"result":{"n": 1}}`))
	var traces, tracesOfRecording bytes.Buffer
	assert.NilError(t, traffic.WriteTraces(&traces, c))
	assert.Equal(t, strings.Count(traces.String(), `"spanId"`), 1)
	again := New(changes.New())
	note, err := again.Load("dir/talk.jsonl", &b)
	assert.NilError(t, err)
	assert.Equal(t, note, "")
	all := again.After(0, 10).Messages
	assert.Equal(t, len(all), 3)
	assert.Equal(t, all[0].Lane, "talk.jsonl")
	assert.Equal(t, all[2].Request, all[1].N)
	loaded, err := again.Connection(1)
	assert.NilError(t, err)
	assert.NilError(t, again.WriteTraces(&tracesOfRecording, loaded))
	assert.Equal(t, tracesOfRecording.String(), traces.String())
	assert.Assert(t, time.UnixMicro(int64(all[0].At*1e3)).After(time.Now().Add(-time.Minute)))

	note, err = again.Load("cut", strings.NewReader(`{"t":0,"kind":"start","version":1}`+"\n"+`{"t":1,"n":1,"from":"cl`))
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(note, "in the middle of a line"))
	_, err = again.Load("none", strings.NewReader("hello"))
	assert.ErrorContains(t, err, "not a recording")
}

func TestDiffOfConnections(t *testing.T) {
	traffic := New(changes.New())
	call := func(id int, tool, token string) string {
		return fmt.Sprintf(`→{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":%q}}}`,
			id, tool, token)
	}
	result := func(id, n int) string {
		return fmt.Sprintf(`←{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, id, n)
	}
	recordFrames(traffic, "a", call(1, "x", "t"), result(1, 1), call(2, "y", "t"), result(2, 2),
		call(3, "old", ""), result(3, 3))
	recordFrames(traffic, "a", call(7, "y", "u"), result(7, 5), call(8, "x", "u"), result(8, 1),
		call(9, "new", ""))
	pairs, err := traffic.DiffConnections(1, 2)
	assert.NilError(t, err)
	var lines []string
	for _, p := range pairs {
		lines = append(lines, fmt.Sprintf("%s %d %d %s", p.Subject, p.Old, p.New, p.Diff))
	}
	assert.DeepEqual(t, lines, []string{"x 1 9 []", "y 3 7 [{result.n 2 5 2 5}]", "old 5 0 []", "new 0 11 []"})
	_, err = traffic.DiffConnections(1, 3)
	assert.ErrorContains(t, err, "there is no connection 3")
}
