package tap

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// A mockClient is a client of a mock.
type mockClient struct {
	net.Conn
	lines  *bufio.Reader
	mock   *Mock
	ended  chan error
	mu     sync.Mutex
	misses []string
}

// startMock serves a recording of these messages; see record.
func startMock(t *testing.T, o Options, messages ...string) *mockClient {
	t.Helper()
	for i, line := range messages {
		messages[i] = line[:2] + `{"jsonrpc":"2.0",` + line[3:] + "\n"
	}
	c := &mockClient{ended: make(chan error, 1)}
	c.mock = &Mock{OnMiss: func(message string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.misses = append(c.misses, message)
	}}
	reader := NewReader(strings.NewReader(record(t, o, messages...)))
	for {
		r, _, err := reader.Next()
		if err == io.EOF {
			break
		}
		assert.NilError(t, err)
		assert.NilError(t, c.mock.Add(r))
	}
	stream, conn := net.Pipe()
	c.Conn, c.lines = conn, bufio.NewReader(conn)
	go func() { c.ended <- c.mock.Serve(t.Context(), stream) }()
	return c
}

// exchange writes the lines that begin with ">", and expects those that begin with "<".
func (c *mockClient) exchange(t *testing.T, messages ...string) {
	t.Helper()
	for _, line := range messages {
		text := `{"jsonrpc":"2.0",` + line[3:] + "\n"
		if line[0] == '>' {
			_, err := io.WriteString(c, text)
			assert.NilError(t, err)
			continue
		}
		got, err := c.lines.ReadString('\n')
		assert.NilError(t, err)
		assert.Equal(t, got, text)
	}
}

// close closes the client's end, and expects these misses and unused requests.
func (c *mockClient) close(t *testing.T, misses []string, unused string) {
	t.Helper()
	assert.NilError(t, c.Close())
	assert.NilError(t, <-c.ended)
	assert.DeepEqual(t, c.misses, misses)
	var names []string
	left, _ := c.mock.Unused()
	for _, m := range left {
		names = append(names, fmt.Sprintf("%s %s %d", m.Method, m.Subject, m.N))
	}
	assert.Equal(t, strings.Join(names, ", "), unused)
}

// The id, _meta, requestState, empty arguments, order and white space do not matter.
func TestMockMatches(t *testing.T) {
	c := startMock(t, Options{},
		`> {"id":1,"method":"server/discover","params":{"_meta":{"a":1}}}`,
		`< {"id":1,"result":{"x":[1, 2]}}`,
		`> {"id":2,"method":"tools/list"}`, `< {"id":2,"error":{"code":-5,"message":"no","data":[]}}`,
		`> {"id":3,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":{"c":"é"}}}}`,
		`< {"id":3,"result":{"isError":true}}`,
		`> {"id":4,"method":"tools/call","params":{"name":"t","requestState":"s","arguments":{}}}`,
		`< {"id":4,"result":4}`,
		`> {"id":5,"method":"half"}`, `< {"id":5,"result":"\ud800"}`)
	c.exchange(t,
		`> {"id":5,"method":"half"}`, `< {"id":5,"result":"\ud800"}`,
		`> {"id":"x","method":"tools/call","params":{"arguments":{"b":{"c":"\u00e9" }, "a":1},"name":"t","_meta":{"progressToken":7}}}`,
		`< {"id":"x","result":{"isError":true}}`,
		`> {"id":7,"method":"server/discover"}`, `< {"id":7,"result":{"x":[1,2]}}`,
		`> {"id":8,"method":"server/discover","params":{}}`, `< {"id":8,"result":{"x":[1,2]}}`,
		`> {"id":9,"method":"ping"}`, `< {"id":9,"result":{}}`,
		`> {"method":"notifications/unknown"}`,
		`> {"id":1,"method":"tools/list","params":{"_meta":{}}}`,
		`< {"id":1,"error":{"code":-5,"message":"no","data":[]}}`)
	c.close(t, nil, "tools/call t 7")
}

// A recorded response may have the id of its request in another notation.
func TestMockOtherIDs(t *testing.T) {
	c := startMock(t, Options{},
		`> {"id":1,"method":"a"}`, `< {"id":"1","result":"one"}`)
	c.exchange(t, `> {"id":5,"method":"a"}`, `< {"id":5,"result":"one"}`)
	c.close(t, nil, "")
}

func TestMockInitialize(t *testing.T) {
	c := startMock(t, Options{},
		`> {"id":1,"method":"initialize","params":{"protocolVersion":"a","clientInfo":{}}}`,
		`< {"id":1,"result":"a"}`, `< {"method":"notifications/message","params":{"data":0}}`,
		`> {"method":"notifications/initialized"}`, `< {"id":1,"method":"roots/list"}`,
		`> {"id":1,"result":{}}`,
		`> {"id":2,"method":"initialize","params":{"protocolVersion":"b"}}`,
		`< {"id":2,"result":"b"}`)
	c.exchange(t,
		`> {"id":1,"method":"server/discover"}`,
		`< {"id":1,"error":{"code":-32601,"message":"the recording has no server/discover; it has initialize"}}`,
		`> {"id":2,"method":"initialize","params":{"protocolVersion":"b","capabilities":{}}}`,
		`< {"id":2,"result":"b"}`,
		`> {"id":3,"method":"initialize","params":{"protocolVersion":"c"}}`,
		`< {"id":3,"result":"a"}`,
		`> {"method":"notifications/initialized"}`,
		`< {"method":"notifications/message","params":{"data":0}}`,
		`< {"id":1,"method":"roots/list"}`,
		`> {"id":4,"method":"ping"}`, `< {"id":4,"result":{}}`)
	c.close(t, nil, "")
}

// Equal requests get their responses in order. The last repeats, but not for tools/call.
func TestMockOrder(t *testing.T) {
	call := `"method":"tools/call","params":{"name":"t"}}`
	c := startMock(t, Options{},
		`> {"id":1,`+call, `< {"id":1,"result":"first"}`,
		`> {"id":2,`+call, `> {"id":3,"method":"tools/list"}`,
		`< {"id":3,"result":"list"}`, `< {"id":2,"result":"second"}`)
	c.exchange(t,
		`> {"id":1,`+call, `< {"id":1,"result":"first"}`,
		`> {"id":2,"method":"tools/list"}`, `< {"id":2,"result":"list"}`,
		`> {"id":3,"method":"tools/list"}`, `< {"id":3,"result":"list"}`,
		`> {"id":4,`+call, `< {"id":4,"result":"second"}`,
		`> {"id":5,`+call,
		`< {"id":5,"error":{"code":-32602,"message":"the recording has this tools/call of \"t\" only 2 times"}}`)
	c.close(t, []string{`the recording has this tools/call of "t" only 2 times`}, "")
}

func TestMockMisses(t *testing.T) {
	c := startMock(t, Options{},
		`> {"id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2,"c":3}}}`,
		`< {"id":1,"result":3}`,
		`> {"id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":5,"b":2}}}`,
		`< {"id":2,"result":7}`,
		`> {"id":3,"method":"tools/call","params":{"name":"mul"}}`, `< {"id":3,"result":7}`)
	var misses []string
	for _, tt := range []struct {
		request string
		code    int
		message string
	}{
		{`"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}`, -32602,
			`the recording has no tools/call of "add" with these params; it has 2 others; frame 1 differs in - arguments.c: 3`},
		{`"method":"tools/call","params":{"name":"mul","arguments":{"a":` +
			strings.Repeat("1", 999) + `}}`, -32602,
			`the recording has no tools/call of "mul" with these params; frame 5 differs in + arguments: {"a":` +
				strings.Repeat("1", 195) + "… (805 more characters)"},
		{`"method":"tools/call","params":{"name":"div"}`, -32602,
			`the recording has no tools/call of "div"; it has "add", "mul"`},
		{`"method":"prompts/list"`, -32601,
			"the recording has no prompts/list; it has tools/call"},
	} {
		c.exchange(t, `> {"id":1,`+tt.request+"}", fmt.Sprintf(
			`< {"id":1,"error":{"code":%d,"message":"%s"}}`, tt.code,
			strings.ReplaceAll(tt.message, `"`, `\"`)))
		misses = append(misses, tt.message)
	}
	c.close(t, misses, "tools/call add 1, tools/call add 3, tools/call mul 5")
}

// Notifications come before the response, with the progress token of the client.
func TestMockNotifications(t *testing.T) {
	progress := `"method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`
	recorded := []string{
		`> {"id":1,"method":"a","params":{"_meta":{"progressToken":"t1"}}}`,
		`> {"id":2,"method":"b","params":{"_meta":{"progressToken":2}}}`,
		`< {` + fmt.Sprintf(progress, `"t1"`, 1), `< {` + fmt.Sprintf(progress, "2", 2),
		`< {"method":"notifications/message","params":{"data":"b"}}`,
		`< {"method":"notifications/cancelled","params":{"requestId":1}}`,
		`< {"id":2,"result":"b"}`, `< {"method":"notifications/message","params":{"data":"a"}}`,
		`< {"id":1,"result":"a"}`, `< {"method":"notifications/tools/list_changed"}`}
	c := startMock(t, Options{}, recorded...)
	c.exchange(t,
		`> {"id":1,"method":"b"}`,
		`< {"method":"notifications/message","params":{"data":"b"}}`,
		`< {"method":"notifications/tools/list_changed"}`, `< {"id":1,"result":"b"}`,
		`> {"id":2,"method":"a","params":{"_meta":{"progressToken":"x"}}}`,
		`< {`+fmt.Sprintf(progress, `"x"`, 1),
		`< {"method":"notifications/message","params":{"data":"a"}}`, `< {"id":2,"result":"a"}`)
	c.close(t, nil, "")
}

// A subscription has the id of the client's request, and does not delay other requests.
func TestMockSubscriptions(t *testing.T) {
	acknowledged := `"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
	changed := `"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
	listen := `"method":"subscriptions/listen","params":{"notifications":{}}}`
	for _, redact := range []bool{false, true} {
		c := startMock(t, Options{Redact: redact},
			`> {"id":1,`+listen, `< {`+fmt.Sprintf(acknowledged, "1"),
			`> {"id":2,"method":"a"}`, `< {`+fmt.Sprintf(changed, "1"), `< {"id":2,"result":"a"}`)
		c.exchange(t, `> {"id":"live",`+listen, `< {`+fmt.Sprintf(acknowledged, `"live"`),
			`> {"id":1,"method":"a"}`, `< {`+fmt.Sprintf(changed, `"live"`),
			`< {"id":1,"result":"a"}`)
		c.close(t, nil, "")
	}
}

// A request of the server has another id, and the response waits for it.
func TestMockQuestion(t *testing.T) {
	messages := []string{
		`> {"id":1,"method":"tools/call","params":{"name":"ask"}}`,
		`< {"id":"q","method":"elicitation/create","params":{"message":"Who?"}}`,
		`> {"id":2,"method":"tools/list"}`, `< {"id":2,"result":"list"}`,
		`> {"id":"q","result":{"action":"accept"}}`,
		`< {"id":"r","method":"ping"}`, // it does not wait for this one
		`< {"id":1,"result":"hello"}`, `> {"id":"r","result":{}}`}
	live := []string{
		`> {"id":1,"method":"tools/call","params":{"name":"ask"}}`,
		`< {"id":1,"method":"elicitation/create","params":{"message":"Who?"}}`,
		`> {"id":2,"method":"tools/list"}`, `< {"id":2,"result":"list"}`}
	for _, answer := range []string{`"result":{"action":"decline"}`,
		`"error":{"code":-32601,"message":"no"}`} {
		c := startMock(t, Options{}, append([]string{}, messages...)...)
		c.exchange(t, live...)
		c.exchange(t, `> {"id":1,`+answer+"}", `< {"id":2,"method":"ping"}`,
			`< {"id":1,"result":"hello"}`)
		c.close(t, nil, "")
	}
	t.Run("cancelled", func(t *testing.T) {
		c := startMock(t, Options{}, append([]string{}, messages...)...)
		c.exchange(t, live...)
		c.exchange(t, `> {"method":"notifications/cancelled","params":{"requestId":1}}`,
			`< {"method":"notifications/cancelled","params":{"requestId":1,"reason":"rpc: cancelled by the peer"}}`,
			`> {"id":3,"method":"ping"}`, `< {"id":3,"result":{}}`)
		c.close(t, nil, "")
	})
	t.Run("closed", func(t *testing.T) {
		c := startMock(t, Options{}, append([]string{}, messages...)...)
		c.exchange(t, live...)
		c.close(t, nil, "")
	})
}

// A request without a response in the recording has none, and does not delay the end.
func TestMockUnanswered(t *testing.T) {
	c := startMock(t, Options{}, `> {"id":1,"method":"a"}`, `> {"id":2,"method":"b"}`,
		`< {"id":2,"result":`+`"`+strings.Repeat("x", MaxFrame)+`"}`)
	c.exchange(t, `> {"id":1,"method":"a"}`, `> {"id":2,"method":"b"}`,
		`< {"id":2,"error":{"code":-32603,"message":"the response in frame 3 of the recording is truncated"}}`)
	c.close(t, []string{"the response in frame 3 of the recording is truncated"}, "")
}

// Redacted values match by type and length.
func TestMockRedacted(t *testing.T) {
	call := `"method":"tools/call","params":{"name":"t","arguments":{"a":%s}%s}}`
	c := startMock(t, Options{Redact: true},
		`> {"id":1,`+fmt.Sprintf(call, `"secret"`, `,"_meta":{"progressToken":1}`),
		`< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
		`< {"id":1,"result":{"content":[],"_meta":{"n":null}}}`,
		`> {"id":2,`+fmt.Sprintf(call, `[1,2]`, ""), `< {"id":2,"result":2}`)
	c.exchange(t, `> {"id":5,`+fmt.Sprintf(call, `"hidden"`, `,"_meta":{"progressToken":5}`),
		`< {"method":"notifications/progress","params":{"progressToken":5,"progress":1}}`,
		`< {"id":5,"result":{"content":[],"_meta":{"n":null}}}`,
		`> {"id":6,`+fmt.Sprintf(call, `[3, 4]`, ""), `< {"id":6,"result":2}`,
		`> {"id":7,`+fmt.Sprintf(call, `"longer text"`, ""),
		`< {"id":7,"error":{"code":-32602,"message":"the recording has no tools/call of \"t\" with these params; it has 2 others; frame 1 differs in ~ arguments.a: \"string(6)\" → \"string(11)\""}}`)
	assert.Equal(t, len(c.misses), 1)
	c.close(t, c.misses, "")
}

// The mock answers in the framing of the client.
func TestMockFraming(t *testing.T) {
	c := startMock(t, Options{}, `> {"id":1,"method":"a"}`, `< {"id":1,"result":[1,2]}`)
	request := `{"jsonrpc":"2.0","id":1,"method":"a"}`
	_, err := fmt.Fprintf(c, "Content-Length: %d\r\n\r\n%s", len(request), request)
	assert.NilError(t, err)
	want := "Content-Length: 39\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"result":[1,2]}`
	got := make([]byte, len(want))
	_, err = io.ReadFull(c, got)
	assert.NilError(t, err)
	assert.Equal(t, string(got), want)
	c.close(t, nil, "")
}

func TestMockEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stream, conn := net.Pipe()
	defer conn.Close()
	cancel()
	assert.Equal(t, new(Mock).Serve(ctx, stream), context.Canceled)
}
