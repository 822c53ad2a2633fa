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

// A message is a message that a scripted server has read.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	line   string
}

// A scripted is a server whose test reads and writes its messages.
type scripted struct {
	in  *bufio.Reader
	out io.WriteCloser
	log func(string) // gets every line read, if not nil
}

// read returns the next message, or one without a method at the end of the stream.
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

// send writes raw bytes. It ignores the error if the client has disconnected.
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

// serve answers requests with replies until the stream ends. It refuses others.
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

// modern answers the probe; legacy refuses the probe and then answers initialize.
func (s *scripted) modern() { s.reply(s.read(), discovered) }

func (s *scripted) legacy() {
	s.refuse(s.read(), -32601, "Method not found")
	s.reply(s.read(), initialized)
	s.read() // notifications/initialized
}

// stream returns a transport to a server that runs script. When script returns, the stream stays
// open until either side closes it.
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

// connect returns a client of a scripted server. It is closed when the test ends.
func connect(t *testing.T, o Options, script func(s *scripted)) *Client {
	t.Helper()
	c, err := o.Connect(t.Context(), stream(script))
	assert.NilError(t, err)
	t.Cleanup(func() { shut(t, c) })
	return c
}

// shut closes a client and asserts that nothing is left running.
func shut(t *testing.T, c *Client) {
	t.Helper()
	assert.NilError(t, c.Close())
	assert.NilError(t, c.Wait())
}

func pad(n int) string { return strings.Repeat("x", n) }

func limitFrame(n int) rpc.Limits { return rpc.Limits{Limits: framing.Limits{MaxFrame: n}} }
