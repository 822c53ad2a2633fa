package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/server"
)

const (
	newest   = "2026-07-28"
	patience = time.Minute // how long a test waits for a message of the server
)

var (
	allRevisions    = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", newest}
	legacyRevisions = allRevisions[:4]
)

// schemas are those of the revisions; nil if they are not available.
var schemas = conformance.OpenSchemas()

// A lineClient is a client of one revision that writes and reads lines. The messages of the server
// are checked against the schema of the revision.
type lineClient struct {
	*line
	revision string
	meta     string // of modern requests
	id       int
	check    *conformance.Conversation
}

// A message is a message of the server.
type message struct {
	t      *testing.T
	raw    string
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// made returns a server with an empty catalog, changed by add.
func made(o server.Options, add ...func(*server.Server)) *server.Server {
	s := o.New(server.Info{Name: "test", Version: "1.2"}, dispatch.NewCatalog())
	for _, f := range add {
		f(s)
	}
	return s
}

// connect returns a client of the server that has not sent anything yet.
func connect(t *testing.T, s *server.Server) *lineClient {
	t.Helper()
	near, far := net.Pipe()
	k := &lineClient{line: &line{t, near, bufio.NewReader(near), make(chan error, 1)}}
	if schemas != nil {
		k.check = schemas.Server()
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { k.ended <- s.Serve(ctx, far) }()
	t.Cleanup(func() {
		cancel()
		near.Close()
		<-k.ended
	})
	return k
}

// speak returns a client of a revision that declares capabilities.
func speak(t *testing.T, s *server.Server, revision, capabilities string) *lineClient {
	t.Helper()
	k := connect(t, s)
	k.speak(revision, capabilities)
	return k
}

func (k *lineClient) speak(revision, capabilities string) message {
	k.t.Helper()
	k.revision = revision
	if k.modern() {
		k.meta = `"io.modelcontextprotocol/protocolVersion":"` + revision +
			`","io.modelcontextprotocol/clientCapabilities":` + capabilities
		return message{}
	}
	k.id++
	k.write(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`,
		k.id, revision, capabilities))
	m := k.next()
	k.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func (k *lineClient) modern() bool { return k.revision == newest }

func (k *lineClient) write(text string) {
	k.t.Helper()
	if k.check != nil {
		_ = k.check.Frame(false, []byte(text)) // only the server is checked
	}
	k.send("%s", text)
}

// start sends a request. params is an object without _meta, or "".
func (k *lineClient) start(method, params string) {
	k.t.Helper()
	if params == "" {
		params = "{}"
	}
	if k.modern() {
		rest := params[1:]
		if rest != "}" {
			rest = "," + rest
		}
		params = `{"_meta":{` + k.meta + `}` + rest
	}
	k.id++
	k.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, k.id, method, params))
}

// next returns the next message.
func (k *lineClient) next() message {
	k.t.Helper()
	_ = k.stream.SetReadDeadline(time.Now().Add(patience))
	text := k.read()
	if k.check != nil {
		assert.NilError(k.t, k.check.Frame(true, []byte(text)))
	}
	m := message{t: k.t, raw: text}
	assert.NilError(k.t, json.Unmarshal([]byte(text), &m), text)
	return m
}

// request sends a request and returns the next message.
func (k *lineClient) request(method, params string) message {
	k.t.Helper()
	k.start(method, params)
	return k.next()
}

// reply answers a request of the server.
func (k *lineClient) reply(to message, result string) {
	k.t.Helper()
	k.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.ID, result))
}

// want sends a request and asserts its result, without the members that every modern result has.
func (k *lineClient) want(method, params, result string) {
	k.t.Helper()
	k.request(method, params).is(k, result)
}

// is asserts that the message is this result.
func (m message) is(k *lineClient, result string) {
	m.t.Helper()
	assert.Assert(m.t, m.Error == nil && m.Result != nil, m.raw)
	assert.Equal(m.t, string(m.ID), fmt.Sprint(k.id), m.raw)
	var got, want map[string]any
	assert.NilError(m.t, json.Unmarshal(m.Result, &got))
	assert.NilError(m.t, json.Unmarshal([]byte(result), &want), result)
	if k.modern() {
		assert.Equal(m.t, got["resultType"], "complete", m.raw)
		meta := got["_meta"].(map[string]any)
		assert.DeepEqual(m.t, meta["io.modelcontextprotocol/serverInfo"],
			map[string]any{"name": "test", "version": "1.2"})
		delete(got, "resultType")
		if delete(meta, "io.modelcontextprotocol/serverInfo"); len(meta) == 0 {
			delete(got, "_meta")
		}
	}
	assert.DeepEqual(m.t, got, want)
}

// expectError sends a request and asserts that it fails with an error whose message contains the
// text.
func (k *lineClient) expectError(method, params string, code int, text string) message {
	k.t.Helper()
	return k.request(method, params).fails(code, text)
}

func (m message) fails(code int, text string) message {
	m.t.Helper()
	assert.Assert(m.t, m.Error != nil, m.raw)
	assert.Equal(m.t, m.Error.Code, code, m.raw)
	assert.Assert(m.t, strings.Contains(m.Error.Message, text), m.raw)
	return m
}

// expectMethod asserts that the message is a notification or a request with this method.
func (m message) expectMethod(method, params string) message {
	m.t.Helper()
	assert.Equal(m.t, m.Method, method, m.raw)
	if params != "" {
		assert.Equal(m.t, string(m.Params), params)
	}
	return m
}

// expectNothing asserts that no message arrives before the response to a further request.
func (k *lineClient) expectNothing() {
	k.t.Helper()
	if k.modern() {
		k.expectError("no/such", "", -32601, "no/such")
		return
	}
	k.want("ping", "", `{}`)
}

// notifications returns the params of the notifications that arrive before the response to a
// further request.
func (k *lineClient) notifications() (params []string) {
	k.t.Helper()
	k.start("no/such", "")
	for m := k.next(); m.Error == nil; m = k.next() {
		assert.Assert(k.t, strings.HasPrefix(m.Method, "notifications/"), m.raw)
		params = append(params, string(m.Params))
	}
	return params
}

// settledNotifications is like notifications, and includes those that are sent once the first have
// been read. It is for tests in a bubble.
func (k *lineClient) settledNotifications() []string {
	k.t.Helper()
	synctest.Wait()
	first := k.notifications()
	synctest.Wait()
	return append(first, k.notifications()...)
}

// in runs a test for a client of each revision.
func in(t *testing.T, revisions []string, f func(t *testing.T, revision string)) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) { f(t, revision) })
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	assert.NilError(t, err)
}
