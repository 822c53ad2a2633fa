package streamable_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// everything uses all features of a client.
func everything(t *testing.T, c *client.Client) {
	for _, err := range c.Tools(t.Context()) {
		assert.NilError(t, err)
	}
	check(t, c)
	assert.NilError(t, c.SetLogLevel(t.Context(), "debug"))
	assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
	for _, method := range []string{"resources/read", "prompts/get", "completion/complete",
		"who/knows", "ping"} {
		_, _ = c.Call(t.Context(), method, map[string]string{"name": "n", "uri": "a:b"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := c.Call(ctx, "prompts/get", map[string]string{"name": "slow"})
	assert.Assert(t, err != nil)
	synctest.Wait()
}

// allCapabilities is a server with all features.
func allCapabilities(w http.ResponseWriter, r *recordedRequest) {
	switch {
	case r.message.Method == "tools/list":
		answerJSON(w, r, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
	case r.message.Method == "tools/call":
		stream := events(w, r)
		stream.raw("data: %s\n\n", question)
		if wait(r, time.Second) {
			stream.result(text)
		}
	case r.message.Method == "subscriptions/listen":
		stream := events(w, r)
		stream.notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
			`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":["a:1"]}}`,
			r.message.ID))
		stream.hold()
	case strings.Contains(r.body, `"slow"`):
		blockRequest(w, r)
	default:
		answerJSON(w, r, `{"resultType":"complete"}`)
	}
}

const can = `"capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true}}`

// Every POST is one message to the endpoint, and its headers describe it.
func TestPostsMustBeModern(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "server/discover" {
			answerJSON(w, r, strings.Replace(discovered, `"capabilities":{"tools":{}}`, can, 1))
			return
		}
		allCapabilities(w, r)
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{OnElicit: accept, OnResourceUpdated: func(string) {}})
		everything(t, c)
		assert.NilError(t, c.Close())
		assert.Assert(t, len(s.lines()) > 9)
		for _, r := range s.seen {
			var message struct {
				JSONRPC, Method string
				ID              *int
				Params          struct {
					Name, URI string
					Meta      map[string]any `json:"_meta"`
				}
			}
			assert.NilError(t, json.Unmarshal([]byte(r.body), &message), r.body)
			assert.Equal(t, r.Method+" "+r.URL.String(), "POST /mcp?key=secret")
			assert.Equal(t, message.JSONRPC, "2.0")
			// no notifications, no responses
			assert.Assert(t, message.ID != nil && message.Method != "", r.body)
			assert.Equal(t, r.Header.Get("Mcp-Protocol-Version"),
				message.Params.Meta["io.modelcontextprotocol/protocolVersion"])
			assert.Equal(t, r.Header.Get("Mcp-Method"), message.Method)
			want := map[string]string{"tools/call": message.Params.Name,
				"prompts/get":    message.Params.Name,
				"resources/read": message.Params.URI}[message.Method]
			assert.Equal(t, r.Header.Get("Mcp-Name"), want)
			assert.Equal(t, r.Header.Get("Accept"), "application/json, text/event-stream")
			assert.Equal(t, r.Header.Get("Content-Type"), "application/json")
		}
	})
}

func TestPostsMustBeLegacy(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "initialize" {
			answerJSON(w, r, strings.Replace(initialized, `"capabilities":{"tools":{}}`, can, 1))
			return
		}
		legacy(allCapabilities, nil)(w, r)
	}, func(t *testing.T, s *testServer) {
		c := s.connect(t,
			client.Options{Era: mcp.Legacy, OnElicit: accept, OnResourceUpdated: func(string) {}})
		everything(t, c)
		assert.NilError(t, c.Close())
		kinds := map[string]int{}
		for _, r := range s.seen {
			if r.Method != http.MethodPost {
				continue
			}
			var message struct {
				JSONRPC, Method string
				ID, Result      json.RawMessage
			}
			assert.NilError(t, json.Unmarshal([]byte(r.body), &message), r.body)
			assert.Equal(t, r.URL.String(), "/mcp?key=secret")
			assert.Equal(t, message.JSONRPC, "2.0")
			assert.Equal(t, r.Header.Get("Accept"), "application/json, text/event-stream")
			switch {
			case message.Method == "":
				kinds["response"]++
			case message.ID == nil:
				kinds["notification"]++
			default:
				kinds["request"]++
			}
		}
		assert.DeepEqual(t, kinds, map[string]int{"request": 11, "notification": 2, "response": 1})
	})
}

// Whatever the application passes, each message is UTF-8 on one line.
func TestMessagesMustBeUTF8(t *testing.T) {
	args := []any{
		map[string]string{"a": "\xff\xfe"}, map[string]string{"a\x80": "b"},
		map[string]string{"a": "\u2028\r\n\x00"}, rawJSON("{\"a\":\n \"b\"\r\n}"),
		rawJSON(`{"a":"\ud800"}`), rawJSON("{\"a\":\"\xff\"}"),
	}
	inBubble(t, modern(answerCall), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		for _, a := range args {
			_, _ = c.CallTool(t.Context(), "weather\xff", a)
		}
		assert.Assert(t, len(s.lines()) > 3)
		for _, r := range s.seen {
			assert.Assert(t, utf8.ValidString(r.body) && !strings.Contains(r.body, "\n") &&
				json.Valid([]byte(r.body)), "%q", r.body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		var sent bytes.Buffer
		read := make(chan struct{})
		go func() {
			defer close(read)
			lines := bufio.NewScanner(io.TeeReader(there, &sent))
			for n := 0; lines.Scan(); n++ {
				if n == 0 {
					fmt.Fprintf(there, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}\n",
						initialized)
				}
			}
		}()
		o := client.Options{Era: mcp.Legacy, StartTimeout: time.Second}
		c, err := o.Connect(t.Context(), client.Stream(here))
		assert.NilError(t, err)
		for _, a := range args {
			_, _ = c.CallTool(t.Context(), "weather\xff", a, client.Timeout(time.Second))
		}
		assert.NilError(t, c.Close())
		<-read
		lines := strings.Split(strings.TrimSuffix(sent.String(), "\n"), "\n")
		assert.Assert(t, len(lines) > 5)
		for _, line := range lines {
			assert.Assert(t, utf8.ValidString(line) && json.Valid([]byte(line)), "%q", line)
		}
	})
}

// Servers of 2025-03-26 may send responses and requests in batches.
func TestBatchesMustBeUnderstood(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method == "initialize" {
				answerJSON(w, r, strings.Replace(initialized, "2025-11-25", "2025-03-26", 1))
				return
			}
			withoutHandshake(func(w http.ResponseWriter, r *recordedRequest) {
				batch := fmt.Sprintf(
					`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":%s,"result":%s}]`,
					r.message.ID, text)
				if asJSON {
					respondWith(200, "application/json", batch)(w, r)
				} else {
					events(w, r).raw("data: %s\n\n", batch)
				}
			})(w, r)
		}, func(t *testing.T, s *testServer) {
			logs := make(chan struct{}, 10)
			c := s.connect(t,
				client.Options{Era: mcp.Legacy, OnLog: func(mcp.LoggingMessageParams) {
					logs <- struct{}{}
				}})
			check(t, c)
			<-logs
			check(t, c)
		})
	}
}

// Requests name the negotiated revision, not the one that the client requested.
func TestNegotiatedRevisionMustBeSent(t *testing.T) {
	for _, agreed := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method == "initialize" {
				answerJSON(w, r, strings.Replace(initialized, "2025-11-25", agreed, 1))
				return
			}
			withoutHandshake(answerCall)(w, r)
		}, func(t *testing.T, s *testServer) {
			check(t, s.connect(t, client.Options{Era: mcp.Legacy}))
			assert.Equal(t, s.last(t, "tools/call").Header.Get("Mcp-Protocol-Version"), agreed)
			assert.Equal(t, s.last(t, "initialize").Header.Get("Mcp-Protocol-Version"), "")
		})
	}
}

// Header names are case-insensitive.
func TestHeaderNamesMustBeOfAnyCase(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "initialize" {
			w.Header()["mcp-SESSION-id"] = []string{"s1"}
			w.Header()["content-TYPE"] = []string{"application/json"}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.message.ID, initialized)
			return
		}
		legacy(answerCall, nil)(w, r)
	}, func(t *testing.T, s *testServer) {
		check(t, s.connect(t, client.Options{Era: mcp.Legacy}))
		assert.Equal(t, s.last(t, "tools/call").Header.Get("Mcp-Session-Id"), "s1")
	})
}
