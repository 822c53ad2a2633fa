package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

const responseTimeout = 30 * time.Second // for a response

var httpEcho = []byte(strings.Repeat("x", 64))

// httpRequest returns a complete modern request. params ends with a comma.
func httpRequest(address, method, name, params string) []byte {
	return httpPost(address, method, name, `{"jsonrpc":"2.0","id":1,"method":"`+method+
		`","params":{`+params+modernMeta+`}}`)
}

// httpPost returns a complete modern request with a body.
func httpPost(address, method, name, body string) []byte {
	if name != "" {
		name = "Mcp-Name: " + name + "\r\n"
	}
	return fmt.Appendf(nil,
		"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%sContent-Length: %d\r\n\r\n%s",
		address, method, name, len(body), body)
}

func httpCall(address string, text []byte) []byte {
	return httpRequest(address, "tools/call", "echo",
		fmt.Sprintf(`"name":"echo","arguments":{"text":"%s"},`, text))
}

// An httpClient sends one request at a time over one connection, and only checks that the response
// is correct.
type httpClient struct {
	conn net.Conn
	buf  []byte
	call []byte // the request that [load] sends
}

func (c *httpClient) Close() error { return c.conn.Close() }

func (c *httpClient) SetDeadline(t time.Time) error { return c.conn.SetDeadline(t) }

// dialHTTP dials from the loopback address with this number. Each of these addresses has its own
// ports.
func dialHTTP(address string, from int) (*httpClient, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+from))}}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &httpClient{conn: conn, buf: make([]byte, 4<<10)}
	// so that the port is free at once when the connection is closed: others need many
	return c, conn.(*net.TCPConn).SetLinger(0)
}

// exchange sends a request and returns the response, which is valid until the next call.
func (c *httpClient) exchange(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	for have := 0; have < len(c.buf); {
		n, err := c.conn.Read(c.buf[have:])
		if err != nil {
			return nil, err
		}
		have += n
		if isComplete(c.buf[:have]) {
			return c.buf[:have], nil
		}
	}
	return nil, fmt.Errorf("the answer is long: %.300s", c.buf)
}

// echo makes a call and checks the response.
func (c *httpClient) echo() error {
	answer, err := c.exchange(c.call)
	if err == nil {
		err = checkResponse(answer)
	}
	return err
}

// isComplete reports whether answer is a complete HTTP response.
func isComplete(answer []byte) bool {
	head, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	const lengthIs = "\r\nContent-Length: "
	at := bytes.Index(head, []byte(lengthIs))
	if at < 0 { // chunked
		return bytes.HasSuffix(body, []byte("\r\n0\r\n\r\n"))
	}
	length := 0
	for _, digit := range head[at+len(lengthIs):] {
		if digit < '0' || digit > '9' {
			break
		}
		length = length*10 + int(digit-'0')
	}
	return len(body) == length
}

func checkResponse(answer []byte) error {
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) || !isEcho(answer) {
		return fmt.Errorf("the server says %.600s", answer)
	}
	return nil
}

// isEcho reports whether answer has the result of a call with the text httpEcho.
func isEcho(answer []byte) bool {
	return bytes.Contains(answer, httpEcho) && !bytes.Contains(answer, []byte(`"isError":true`))
}

// portsPerAddress is how many connections one loopback address makes to one server. It is a third
// of the ports that Linux offers, among which it soon finds a free one.
const portsPerAddress = 10_000

// dialAll opens n connections and calls f with each, eight at a time.
func dialAll(address string, n int, f func(*httpClient) error) ([]*httpClient, error) {
	return openAll(n, func(i int) (*httpClient, error) {
		c, err := dialHTTP(address, i/portsPerAddress)
		if err == nil {
			err = f(c)
		}
		return c, err
	})
}

// openAll opens n connections, eight at a time. If one fails, the others are returned too, for
// closeAll.
func openAll[C any](n int, open func(i int) (C, error)) ([]C, error) {
	clients, errs := make([]C, n), make([]error, n)
	var wg sync.WaitGroup
	const workers = 8
	for first := range workers {
		wg.Go(func() {
			for i := first; i < n; i += workers {
				if clients[i], errs[i] = open(i); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return clients, firstError(errs)
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes the connections that have been opened.
func closeAll[C interface {
	comparable
	io.Closer
}](clients []C) {
	var none C
	for _, c := range clients {
		if c != none {
			c.Close()
		}
	}
}

// A loadClient makes one call at a time.
type loadClient interface {
	SetDeadline(time.Time) error
	echo() error // makes a call and checks the response
}

// load keeps one call in flight on each connection for about d, and returns the duration of each
// call.
func load[C loadClient](
	clients []C, d time.Duration,
) (times []time.Duration, took time.Duration, err error) {
	each, errs := make([][]time.Duration, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	begin := time.Now()
	for i, c := range clients {
		wg.Go(func() {
			errs[i] = c.SetDeadline(begin.Add(d + responseTimeout))
			for before := begin; errs[i] == nil && before.Sub(begin) < d; {
				if errs[i] = c.echo(); errs[i] != nil {
					return
				}
				now := time.Now()
				each[i] = append(each[i], now.Sub(before))
				before = now
			}
		})
	}
	wg.Wait()
	took = time.Since(begin)
	for _, part := range each {
		times = append(times, part...)
	}
	return times, took, firstError(errs)
}
