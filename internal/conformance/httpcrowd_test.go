//go:build linux

package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Many listeners of both eras get a notification of one change.
func TestManySubscriptions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.serve()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const listeners = 120
	var group sync.WaitGroup
	ready := make(chan error, listeners)
	for n := range listeners {
		revision := mcp.Supported()[n%len(mcp.Supported())]
		group.Go(func() {
			w, err := connectWire(ctx, s.tapped, revision)
			if err != nil {
				ready <- err
				return
			}
			defer w.http.CloseIdleConnections()
			r, err := w.listen(ctx)
			if r != nil {
				defer r.Body.Close()
			}
			ready <- err
			if err == nil {
				err = updated(r)
			}
			if err != nil {
				t.Errorf("%s: %v", revision, err)
			}
		})
	}
	for range listeners {
		assert.Check(t, <-ready)
	}
	newWire(t, s.tapped, mcp.Latest).wants(t, "Changed", "test_trigger_resource_update", `{}`)
	group.Wait()
	b.wellSaid("record")
}

// descriptors returns the number of files and connections that the server's process has open.
func (s *site) descriptors() int {
	s.t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.process.Process.Pid))
	assert.NilError(s.t, err)
	return len(all)
}

// settles waits until the server's process has no more of them than before.
func (s *site) settles(before int) {
	s.t.Helper()
	eventually.AtMost(s.t, "open descriptors of the server", before, s.descriptors)
}

// Clients disconnect while the server sends them messages, or before they have sent a whole
// request. None of their resources remain, and other clients are not affected.
func TestClientsThatDisconnectOverHTTP(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve()
	w := newWire(t, s.direct, mcp.Rev20251125)
	w.wants(t, "Hello, Ada!", "greet", `{"name":"Ada"}`)
	before := s.descriptors()
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
	post := func(header, body string) string {
		return fmt.Sprintf("%s%sContent-Length: %d\r\n\r\n%s", head, header, len(body), body)
	}
	session := "Mcp-Session-Id: " + w.session + "\r\n"
	legacyCall := func(params string) string {
		return post(session, `{"jsonrpc":"2.0","id":"UNIQUE","method":"tools/call","params":{`+
			params+`}}`)
	}
	modernPost := func(method, name, params string) string {
		return post("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: "+method+"\r\n"+name,
			`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,`+modern+`}}`)
	}
	for _, said := range []string{
		"", "P", "POST /mcp HTTP/1.1\r\nHost: loc", head, "\x16\x03\x01\x00garbage\r\n\r\n",
		head + "Content-Length: 100\r\n\r\n{\"jsonrpc\":",
		head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"j",
		"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + session + "\r\n",
		legacyCall(`"name":"test_tool_with_progress","_meta":{"progressToken":1}`),
		legacyCall(`"name":"slow_compute","arguments":{"seconds":0.2}`),
		modernPost("tools/call", "Mcp-Name: slow_compute\r\n",
			`"name":"slow_compute","arguments":{"seconds":600}`),
		modernPost("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`),
	} {
		for n := range 10 {
			c, err := net.Dial("tcp", s.address())
			assert.NilError(t, err)
			_, err = io.WriteString(c,
				strings.ReplaceAll(said, "UNIQUE", fmt.Sprintf("%p %d", &said, n)))
			assert.NilError(t, err)
			if n%2 == 0 { // some disconnect at once, some with a reset
				assert.NilError(t, c.(*net.TCPConn).SetLinger(0))
			}
			assert.NilError(t, c.Close())
		}
		w.wants(t, "Hello, Ada!", "greet", `{"name":"Ada"}`)
	}
	s.settles(before)
}

func (s *site) address() string {
	address, _, _ := strings.Cut(strings.TrimPrefix(s.direct, "http://"), "/")
	return address
}

// Clients of all revisions do not read: some listen to a resource that changes continuously, some
// have requested more than all buffers hold. Clients that make and read the changes are not
// affected. When the slow clients have disconnected, none of their resources remain.
func TestSlowReadersOverHTTP(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := newWire(t, s.direct, mcp.Latest)
	w.wants(t, "Changed", "test_trigger_resource_update", `{}`)
	before := s.descriptors()
	large := fmt.Sprintf(`"name":"greet","arguments":{"name":%q}`, strings.Repeat("A", 3<<20))
	for _, revision := range mcp.Supported() {
		slow, err := connectWire(ctx, s.direct, revision)
		assert.NilError(t, err)
		slow.http.CloseIdleConnections()
		slow.http.Transport = &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err == nil {
					err = c.(*net.TCPConn).SetReadBuffer(1)
				}
				return c, err
			}}
		defer slow.http.CloseIdleConnections()
		listening, err := slow.listen(ctx)
		assert.NilError(t, err)
		defer listening.Body.Close()
		asked, err := slow.request(ctx, mcp.MethodCallTool, "greet", large)
		assert.NilError(t, err)
		assert.Equal(t, asked.StatusCode, http.StatusOK)
		defer asked.Body.Close()
	}
	readers := make(chan error, 2)
	for _, revision := range []mcp.Revision{mcp.Rev20251125, mcp.Latest} {
		reader, err := connectWire(ctx, s.direct, revision)
		assert.NilError(t, err)
		r, err := reader.listen(ctx)
		assert.NilError(t, err)
		go func() {
			defer reader.http.CloseIdleConnections()
			defer r.Body.Close()
			for range 100 {
				if err := updated(r); err != nil {
					readers <- err
					return
				}
			}
			readers <- nil
		}()
	}
	changing, enough := context.WithCancel(ctx)
	defer enough()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for changing.Err() == nil {
				if _, err := w.call(ctx, "test_trigger_resource_update", `{}`); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range cap(readers) {
		assert.NilError(t, <-readers)
	}
	enough()
	group.Wait()
	cancel() // so all have disconnected
	w.http.CloseIdleConnections()
	s.settles(before)
}
