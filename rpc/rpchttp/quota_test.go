package rpchttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

// senders serves a handler whose method wait blocks. The header Sender stands for the address of a
// sender, as that of a proxy.
func senders(t *testing.T, o rpchttp.HandlerOptions) (url string, began chan struct{}, end func()) {
	began, release := make(chan struct{}, 9), make(chan struct{})
	h := o.New(func(ctx context.Context, req *rpc.Request) (any, error) {
		switch req.Method {
		case "wait":
			began <- struct{}{}
			<-release
		case "long":
			return strings.Repeat("x", 300<<10), nil
		}
		return "fine", nil
	})
	url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sender := r.Header.Get("Sender"); sender != "" {
			r.RemoteAddr = net.JoinHostPort(sender, "1")
		}
		h.ServeHTTP(w, r)
	}))
	return url, began, func() { close(release) }
}

func bodyOf(method string, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[%q]}`, method,
		strings.Repeat("x", size))
}

// The bodies and responses of all requests share one budget, of which a sender has a share.
func TestMaxMemory(t *testing.T) {
	url, began, end := senders(t, rpchttp.HandlerOptions{MaxMemory: 1 << 20, MaxBody: 1 << 20})
	var ended []chan *http.Response
	hold := func(sender string, size int) {
		done := make(chan *http.Response, 1)
		ended = append(ended, done)
		go func() { done <- send(t, "POST", url, bodyOf("wait", size), "Sender: "+sender) }()
		<-began
	}
	expect := func(sender, method string, size, status int, want string) {
		t.Helper()
		resp := send(t, "POST", url, bodyOf(method, size), "Sender: "+sender)
		body := text(t, resp)
		assert.Equal(t, resp.StatusCode, status, "%s: %.200s", sender, body)
		assert.Assert(t, strings.Contains(body, want), "%.200s", body)
		assert.Equal(t, resp.Header.Get("Retry-After") != "", status == 429 || status == 503)
	}
	expect("192.0.2.1", "m", 700<<10, 413, "larger than the memory") // more than half can never be had
	hold("192.0.2.1", 300<<10)                                       // 512 KiB
	expect("192.0.2.1", "m", 100<<10, 429, `"code":-31999`)
	expect("192.0.2.1", "m", 10<<10, 200, "fine") // a small body needs no memory
	expect("192.0.2.2", "m", 100<<10, 200, "fine")
	expect("192.0.2.1", "long", 1, 200, "there is no memory for its response")
	hold("192.0.2.2", 200<<10) // 256 KiB of the 512 that are left
	expect("192.0.2.3", "m", 200<<10, 503, `"code":-31999`)
	expect("127.0.0.1", "m", 200<<10, 200, "fine") // as from a proxy: no share
	end()
	for _, done := range ended {
		assert.Equal(t, (<-done).StatusCode, 200)
	}
	expect("192.0.2.1", "long", 100<<10, 200, "xxx")
}

// A sender may hold at most half of the requests that the others leave.
func TestShareOfRequests(t *testing.T) {
	url, began, end := senders(t, rpchttp.HandlerOptions{MaxRequests: 4})
	done := make(chan *http.Response, 2)
	for range 2 {
		go func() { done <- send(t, "POST", url, bodyOf("wait", 1), "Sender: 2001:db8::1") }()
		<-began
	}
	// One sender usually has the last 64 bits of an IPv6 address for itself.
	resp := send(t, "POST", url, bodyOf("m", 1), "Sender: 2001:db8::2")
	assert.Equal(t, resp.StatusCode, 429)
	assert.Equal(t, resp.Header.Get("Retry-After"), "1")
	assert.Equal(t, send(t, "POST", url, bodyOf("m", 1), "Sender: 2001:db8:0:1::1").StatusCode, 200)
	end()
	for range 2 {
		assert.Equal(t, (<-done).StatusCode, 200)
	}
}
