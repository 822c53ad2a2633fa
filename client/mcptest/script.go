package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Reply is the reply of a scripted server to one request. Result and Error are JSON; if both are
// empty, the server sends no response, and the call times out.
type Reply struct {
	Method string // the method of the request
	// Before is sent before the response, each element as one line: notifications and requests, or
	// text that no server should send. $ID stands for the request's id.
	Before []string
	Result string
	Error  string
	// Raw replaces the response, with $ID for the request's id. Close ends the connection instead.
	Raw   string
	Close bool
}

// Script returns a server that answers requests with replies, for [client.Connect]:
//
//	c, err := client.Connect(ctx, mcptest.Script(t,
//		mcptest.Reply{Method: "tools/call", Result: `{"content":[]}`},
//		mcptest.Reply{Method: "tools/call", Raw: `{"jsonrpc":"2.0","id":$ID,"result":`}))
//
// Replies for the same method are used in order, one for each request. Without a reply for
// server/discover or initialize, the server answers these itself, and declares tools, resources and
// prompts. Any other request without a reply fails the test, and so does a reply that is not used.
// The server ignores notifications and responses of the client.
func Script(t testing.TB, replies ...Reply) client.Transport {
	t.Helper()
	here, there := net.Pipe()
	s := &script{t: t, replies: map[string][]Reply{}, conn: there, ended: make(chan struct{})}
	for _, r := range replies {
		s.replies[r.Method] = append(s.replies[r.Method], r)
	}
	go s.serve()
	t.Cleanup(func() {
		there.Close()
		awaitEnd(t, s.ended, "the scripted server still runs")
		for method, left := range s.replies {
			if len(left) > 0 {
				t.Errorf("mcptest: %d replies to %s were not asked for", len(left), method)
			}
		}
	})
	return client.Stream(here)
}

// A script is the state of a scripted server. It belongs to the goroutine of serve until ended is
// closed.
type script struct {
	t       testing.TB
	replies map[string][]Reply
	conn    net.Conn
	ended   chan struct{}
}

func (s *script) serve() {
	defer close(s.ended)
	defer s.conn.Close()
	lines := bufio.NewScanner(s.conn)
	lines.Buffer(nil, mcp.DefaultMaxSend)
	for lines.Scan() {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
			s.t.Errorf("mcptest: the client has sent %q: %v", lines.Bytes(), err)
			return
		}
		if message.ID == nil || message.Method == "" {
			continue
		}
		if !s.reply(string(message.ID), message.Method, message.Params) {
			return
		}
	}
}

// reply answers a request. It returns false at the end of the connection.
func (s *script) reply(id, method string, params json.RawMessage) bool {
	r := Reply{Result: handshake[method]}
	switch left := s.replies[method]; {
	case len(left) > 0:
		r, s.replies[method] = left[0], left[1:]
	case r.Result == "":
		s.t.Errorf("mcptest: there is no reply to %s %s", method, params)
		r.Error = `{"code":-32601,"message":"the test has no reply"}`
	case method == mcp.MethodInitialize:
		var wanted mcp.InitializeParams
		_ = mcp.Unmarshal(params, &wanted)
		r.Result = fmt.Sprintf(r.Result, wanted.ProtocolVersion)
	}
	for _, line := range r.Before {
		if !s.send(line, id) {
			return false
		}
	}
	switch {
	case r.Close:
		return false
	case r.Raw != "":
		return s.send(r.Raw, id)
	case r.Error != "":
		return s.send(`{"jsonrpc":"2.0","id":$ID,"error":`+r.Error+`}`, id)
	case r.Result != "":
		return s.send(`{"jsonrpc":"2.0","id":$ID,"result":`+r.Result+`}`, id)
	}
	return true
}

func (s *script) send(line, id string) bool {
	_, err := s.conn.Write([]byte(strings.ReplaceAll(line, "$ID", id) + "\n"))
	return err == nil
}

// handshake maps the methods of the handshake to their results.
var handshake = map[string]string{
	mcp.MethodDiscover: `{"resultType":"complete","supportedVersions":["` + string(mcp.Latest) +
		`"],"capabilities":{"tools":{},"resources":{},"prompts":{}},"ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"` + mcp.MetaServerInfo + `":{"name":"script","version":"1"}}}`,
	mcp.MethodInitialize: `{"protocolVersion":%q,"capabilities":{"tools":{},"resources":{},` +
		`"prompts":{}},"serverInfo":{"name":"script","version":"1"}}`,
}
