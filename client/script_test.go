package client

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
)

// A message is what a scripted server reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	line   string
}

// A scripted server does, line by line, what a test wants it to.
type scripted struct {
	in  *bufio.Reader
	out io.WriteCloser
	log func(string) // sees every line read, if not nil
}

// read returns the next message; at the end of the stream one without a method.
func (s *scripted) read() (m message) {
	line, err := s.in.ReadString('\n')
	if err != nil {
		return m
	}
	if s.log != nil {
		s.log(line)
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		panic(fmt.Sprintf("the client sent %q: %v", line, err))
	}
	m.line = strings.TrimSuffix(line, "\n")
	return m
}

// send writes raw bytes; a write to a client that has gone is ignored.
func (s *scripted) send(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

func (s *scripted) reply(to message, result string) {
	s.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", to.ID, result)
}

func (s *scripted) refuse(to message, code int, text string) {
	s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", to.ID, code, text)
}

// unsupported refuses the revision of a request and offers another.
func (s *scripted) unsupported(to message, offered string) {
	s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":[%q],"requested":"2026-07-28"}}}`+
		"\n", to.ID, offered)
}

func (s *scripted) notify(method, params string) {
	s.send(`{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params)
}

// serve answers with replies until the stream ends; what is not in it is refused.
func (s *scripted) serve(replies map[string]string) {
	for m := s.read(); m.line != ""; m = s.read() {
		if result, ok := replies[m.Method]; ok {
			s.reply(m, result)
		} else if m.ID != nil && m.Method != "" {
			s.refuse(m, -32601, "Method not found")
		}
	}
}

const (
	discovered  = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"instructions":"Ask nicely.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"}}}`
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"},"instructions":"Ask nicely."}`
)

// modern answers the probe, and legacy refuses it and shakes hands.
func (s *scripted) modern() { s.reply(s.read(), discovered) }

func (s *scripted) legacy() {
	s.refuse(s.read(), -32601, "Method not found")
	s.reply(s.read(), initialized)
	s.read() // notifications/initialized
}

// stream returns a transport to where script runs. When script returns, it stays open until either
// side closes it.
func stream(script func(s *scripted)) Transport {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		script(&scripted{in: bufio.NewReaderSize(there, 1<<20), out: there})
		_, _ = io.Copy(io.Discard, there)
	}()
	return Stream(here)
}

// hold keeps the stream open until the client closes it.
func (s *scripted) hold() {
	for s.read().line != "" {
	}
}

// connect returns a client of a scripted server, that is closed when the test ends.
func connect(t *testing.T, o Options, script func(s *scripted)) *Client {
	t.Helper()
	c, err := o.Connect(t.Context(), stream(script))
	assert.NilError(t, err)
	t.Cleanup(func() { shut(t, c) })
	return c
}

// shut closes a client and waits until nothing of it is left.
func shut(t *testing.T, c *Client) {
	t.Helper()
	assert.NilError(t, c.Close())
	assert.NilError(t, c.Wait())
}

func pad(n int) string { return strings.Repeat("x", n) }

func limitFrame(n int) rpc.Limits { return rpc.Limits{Limits: framing.Limits{MaxFrame: n}} }
