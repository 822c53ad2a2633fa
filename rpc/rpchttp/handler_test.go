package rpchttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

func response(id, rest string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + rest + `}` }

func failure(id string, code int, message string) string {
	return response(id, fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, message))
}

// Bodies of requests and of responses, among them those of section 7 of the specification.
func TestBodies(t *testing.T) {
	url := serve(t, rpchttp.HandlerOptions{MaxBatch: 5}.New(methods().Serve))
	const internal = "Internal error"
	sub := func(id, params string) string {
		return response(id, `"method":"subtract","params":`+params)
	}
	for name, c := range map[string]struct{ body, want string }{
		"positions":   {sub("1", "[42,23]"), response("1", `"result":19`)},
		"names":       {sub("1", `{"b":23,"a":42}`), response("1", `"result":19`)},
		"white space": {"\n " + sub("1", "[\n42,\n23]") + "\r\n", response("1", `"result":19`)},
		"mark":        {"\uFEFF" + sub("1", "[3,1]"), response("1", `"result":2`)},
		"large id": {sub("9007199254740993", "[3,1]"),
			response("9007199254740993", `"result":2`)},
		"fraction":     {sub("1.50", "[3,1]"), response("1.50", `"result":2`)},
		"minus zero":   {sub("-0", "[3,1]"), response("-0", `"result":2`)},
		"empty id":     {sub(`""`, "[3,1]"), response(`""`, `"result":2`)},
		"escaped id":   {sub(`"\u0061\/"`, "[3,1]"), response(`"\u0061\/"`, `"result":2`)},
		"notification": {`{"jsonrpc":"2.0","method":"note","params":{}}`, ""},
		"failing note": {`{"jsonrpc":"2.0","method":"panic"}`, ""},
		"exiting note": {`{"jsonrpc":"2.0","method":"exit"}`, ""},
		"unknown note": {`{"jsonrpc":"2.0","method":"foobar"}`, ""},
		"a response":   {response("1", `"result":1`), ""},
		"panic":        {response("1", `"method":"panic"`), failure("1", -32603, internal)},
		"Goexit":       {response("1", `"method":"exit"`), failure("1", -32603, internal)},
		"secret":       {response("1", `"method":"fail"`), failure("1", -32603, internal)},
		"unknown method": {response(`"1"`, `"method":"no"`),
			failure(`"1"`, -32601, `there is no method "no"`)},
		"params": {sub("1", `["a"]`),
			failure("1", -32602, "params.a: want a number, not a string")},
		"own error": {response("1", `"method":"own"`),
			response("1", `"error":{"code":7,"message":"seven","data":{"a":1}}`)},
		"empty": {"", failure("null", -32700, "invalid JSON at byte 0: a value is missing")},
		"not JSON": {`{"jsonrpc":"2.0","id":1,"method":`,
			failure("null", -32700, "invalid JSON at byte 33: a value is missing")},
		"not object": {`"a"`, failure("null", -32600, "a message must be an object")},
		"no version": {`{"id":1,"method":"m"}`, failure("1", -32600, `jsonrpc must be "2.0"`)},
		"null id": {response("null", `"method":"m"`),
			failure("null", -32600, "the id of a request must not be null")},
		"nothing": {response("1", `"x":1`),
			failure("1", -32600, "a message has a method, or a result or an error")},
		"batch": {`[` + sub("1", "[3,1]") + `,{"jsonrpc":"2.0","method":"note"},1,{"foo":"boo"},` +
			response("5", `"method":"panic"`) + `]`,
			`[` + response("1", `"result":2`) + `,` +
				failure("null", -32600, "a message must be an object") + `,` +
				failure("null", -32600, `jsonrpc must be "2.0"`) + `,` +
				failure("5", -32603, internal) + `]`},
		"batch of notes": {
			`[{"jsonrpc":"2.0","method":"note"},{"jsonrpc":"2.0","method":"exit"}]`, ""},
		"broken batch": {`[` + sub("1", "[3,1]") + `,{"jsonrpc"`,
			failure("null", -32700, "invalid JSON at byte 71: expected ':' after a member name")},
		"empty batch": {`[]`, failure("null", -32600, "a batch must not be empty")},
		"long batch": {`[1,2,3,4,5,6]`,
			failure("null", -32600, "a batch of more than 5 messages is too large")},
	} {
		t.Run(name, func(t *testing.T) {
			resp := send(t, "POST", url, c.body)
			got := text(t, resp)
			if c.want == "" {
				assert.Equal(t, resp.StatusCode, http.StatusNoContent)
				assert.Equal(t, got, "")
				return
			}
			assert.Equal(t, resp.StatusCode, http.StatusOK)
			assert.Equal(t, resp.Header.Get("Content-Type"), "application/json")
			assert.Equal(t, resp.ContentLength, int64(len(got)))
			assert.Equal(t, got, c.want)
		})
	}
}

func TestRefusals(t *testing.T) {
	url := serve(t, rpchttp.HandlerOptions{MaxBody: 100}.New(methods().Serve))
	listed := serve(t, rpchttp.HandlerOptions{
		AllowedHosts: []string{"RPC.example"},
	}.New(methods().Serve))
	const good = `{"jsonrpc":"2.0","id":1,"method":"subtract","params":[3,1]}`
	long := good + strings.Repeat(" ", 100)
	for name, c := range map[string]struct {
		method, url, body string
		header            []string
		status            int
		want              string // a header of the response
	}{
		"good": {"POST", url, good, nil, 200, ""},
		"charset": {"POST", url, good, []string{"Content-Type: application/json; charset=utf-8"},
			200, ""},
		"other type":  {"POST", url, good, []string{"Content-Type: application/json-rpc"}, 200, ""},
		"identity":    {"POST", url, good, []string{"Content-Encoding: Identity"}, 200, ""},
		"same origin": {"POST", url, good, []string{"Origin: " + url}, 200, ""},
		"GET":         {"GET", url, "", nil, 405, "Allow: POST"},
		"HEAD":        {"HEAD", url, "", nil, 405, "Allow: POST"},
		"OPTIONS":     {"OPTIONS", url, "", nil, 405, "Allow: POST"},
		"no type": {"POST", url, good, []string{"Content-Type: "}, 415,
			"Accept-Post: application/json"},
		"form":          {"POST", url, good, []string{"Content-Type: text/plain"}, 415, ""},
		"gzip":          {"POST", url, good, []string{"Content-Encoding: gzip"}, 415, ""},
		"too long":      {"POST", url, long, nil, 413, "Connection: close"},
		"other origin":  {"POST", url, good, []string{"Origin: http://other.example"}, 403, ""},
		"other site":    {"POST", url, good, []string{"Sec-Fetch-Site: cross-site"}, 403, ""},
		"rebinding":     {"POST", url, good, []string{"Host: other.example"}, 403, ""},
		"localhost":     {"POST", url, good, []string{"Host: localhost:1"}, 200, ""},
		"listed host":   {"POST", listed, good, []string{"Host: rpc.Example:80"}, 200, ""},
		"unlisted host": {"POST", listed, good, []string{"Host: localhost"}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			resp := send(t, c.method, c.url, c.body, c.header...)
			assert.Equal(t, resp.StatusCode, c.status)
			header, value, _ := strings.Cut(c.want, ": ")
			if header == "Connection" {
				assert.Assert(t, resp.Close)
			} else {
				assert.Equal(t, resp.Header.Get(header), value)
			}
			if c.method == "HEAD" {
				return
			}
			m, err := rpc.ParseMessage([]byte(text(t, resp)))
			assert.NilError(t, err)
			if c.status == 200 {
				assert.Equal(t, string(m.Result), "2")
			} else {
				assert.Assert(t, m.ID.IsNull())
				assert.ErrorIs(t, m.Error, rpc.ErrInvalidRequest)
			}
		})
	}
	t.Run("too long, in chunks", func(t *testing.T) {
		resp, err := http.Post(url, "application/json", io.MultiReader(strings.NewReader(long)))
		assert.NilError(t, err)
		defer resp.Body.Close()
		assert.Equal(t, resp.StatusCode, 413)
	})
	t.Run("half a body", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		assert.NilError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n"+good)
		assert.NilError(t, err)
		assert.NilError(t, conn.(*net.TCPConn).CloseWrite())
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		assert.NilError(t, err)
		defer resp.Body.Close()
		assert.Equal(t, resp.StatusCode, 400)
	})
	t.Run("a slow body", func(t *testing.T) {
		h := rpchttp.HandlerOptions{}.New(methods().Serve)
		s := httptest.NewUnstartedServer(http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { // as if ReadTimeout were over now
				_ = http.NewResponseController(w).SetReadDeadline(time.Now())
				h.ServeHTTP(w, r)
			}))
		s.Config.ReadTimeout = time.Hour
		s.Start()
		defer s.Close()
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		assert.NilError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n")
		assert.NilError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		assert.NilError(t, err)
		defer resp.Body.Close()
		assert.Equal(t, resp.StatusCode, 408)
	})
}

// A response that is too large is replaced by an error with its id; the others of a batch arrive.
func TestResponseIsBounded(t *testing.T) {
	url := serve(t, rpchttp.HandlerOptions{MaxResponse: 2000}.New(methods().Serve))
	const large = `{"jsonrpc":"2.0","id":%d,"method":"repeat","params":[%d]}`
	tooLarge := func(id string, size int) string {
		return failure(id, -32603, fmt.Sprintf(
			"the response of %d bytes is too large; responses to one POST may have 2000", size))
	}
	envelope := len(response("1", `"result":""`))
	assert.Equal(t, text(t, send(t, "POST", url, fmt.Sprintf(large, 1, 5000))),
		tooLarge("1", 5000+envelope))
	assert.Equal(t, len(text(t, send(t, "POST", url, fmt.Sprintf(large, 1, 1900)))), 1900+envelope)
	body := "[" + fmt.Sprintf(large, 1, 1500) + "," + fmt.Sprintf(large, 2, 10) + "]"
	got := text(t, send(t, "POST", url, body))
	assert.Assert(t, len(got) > 1500 && len(got) < 2000)
	body = "[" + fmt.Sprintf(large, 1, 3000) + "," + fmt.Sprintf(large, 2, 10) + "]"
	assert.Equal(t, text(t, send(t, "POST", url, body)), "["+tooLarge("1", 3000+envelope)+","+
		response("2", `"result":"xxxxxxxxxx"`)+"]")
}

// The requests of a batch run at once, and see the notifications before them.
func TestBatchOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	both, arrived := make(chan struct{}), 0 // the two requests wait for each other
	url := serve(t, rpchttp.HandlerOptions{}.
		New(func(ctx context.Context, req *rpc.Request) (any, error) {
			if req.IsNotification() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, req.Method)
				return nil, nil
			}
			mu.Lock()
			seen := len(order)
			if arrived++; arrived == 2 {
				close(both)
			}
			mu.Unlock()
			select {
			case <-both:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return seen, nil
		}))
	got := text(t, send(t, "POST", url, `[{"jsonrpc":"2.0","method":"a"},`+
		`{"jsonrpc":"2.0","method":"b"},`+
		`{"jsonrpc":"2.0","id":2,"method":"m"},{"jsonrpc":"2.0","id":1,"method":"m"}]`))
	assert.Equal(t, got, "["+response("2", `"result":2`)+","+response("1", `"result":2`)+"]")
	mu.Lock()
	defer mu.Unlock()
	assert.Assert(t, slices.Equal(order, []string{"a", "b"}))
}

// A handler has the deadline and the values of the HTTP request.
func TestHandlerContext(t *testing.T) {
	type userKey struct{}
	deadline := time.Now().Add(time.Hour)
	h := rpchttp.HandlerOptions{}.New(func(ctx context.Context, req *rpc.Request) (any, error) {
		got, ok := ctx.Deadline()
		return []any{ctx.Value(userKey{}), ok && got.Equal(deadline), req.Peer() == nil,
			rpc.PeerFromContext(ctx) == nil}, nil
	})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithDeadline(r.Context(), deadline)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, userKey{}, "ann")))
	}))
	assert.Equal(t, text(t, send(t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"m"}`)),
		response("1", `"result":["ann",true,true,true]`))
}

// waiting returns a handler whose requests wait for the end of their context, and report begin and
// end.
func waiting(o rpchttp.HandlerOptions) (h *rpchttp.Handler, began chan struct{}, ended chan error) {
	began, ended = make(chan struct{}, 10), make(chan error, 10)
	h = o.New(func(ctx context.Context, _ *rpc.Request) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	return h, began, ended
}

func TestDisconnectEndsTheContext(t *testing.T) {
	h, began, ended := waiting(rpchttp.HandlerOptions{})
	client := newClient(t, serve(t, h), rpchttp.ClientOptions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(io.ErrNoProgress)
	}()
	err := client.Call(ctx, "wait", nil, nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, io.ErrNoProgress)
	assert.ErrorIs(t, <-ended, context.Canceled)
}

func TestMaxRequests(t *testing.T) {
	h, began, _ := waiting(rpchttp.HandlerOptions{MaxRequests: 1})
	url := serve(t, h)
	client := newClient(t, url, rpchttp.ClientOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- client.Call(ctx, "wait", nil, nil) }()
	<-began
	resp := send(t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
	assert.Equal(t, resp.StatusCode, 503)
	assert.Equal(t, resp.Header.Get("Retry-After"), "1")
	assert.ErrorIs(t, client.Call(t.Context(), "m", nil, nil), rpc.ErrBusy)
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
}

func TestShutdown(t *testing.T) {
	h, began, ended := waiting(rpchttp.HandlerOptions{})
	client := newClient(t, serve(t, h), rpchttp.ClientOptions{})
	done := make(chan error, 1)
	go func() { done <- client.Call(t.Context(), "wait", nil, nil) }()
	<-began
	over, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, h.Shutdown(over), context.Canceled)
	assert.ErrorIs(t, <-ended, rpc.ErrShutdown)
	assert.Error(t, <-done, "shutting down: the request was not finished (code -31999)")
	assert.NilError(t, h.Shutdown(t.Context())) // waits until the response is written
	assert.ErrorIs(t, client.Call(t.Context(), "late", nil, nil), rpc.ErrBusy)

	idle := rpchttp.HandlerOptions{}.New(methods().Serve)
	assert.NilError(t, idle.Shutdown(t.Context()))
	assert.NilError(t, idle.Shutdown(t.Context()))
}

func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var got []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf(format, args...))
	}
	url := serve(t, rpchttp.HandlerOptions{Hooks: rpc.Hooks{
		Frame: func(_ context.Context, d rpc.Direction, body []byte) { add("%v %s", d, body) },
		Call: func(e rpc.CallEvent) {
			add("%s %s %v %v", e.ID, e.Method, e.End, e.Err)
		},
		Stray: func(text []byte, reason string) { add("%s: %s", text, reason) },
		Panic: func(method string, value any, stack []byte) {
			add("%s %v %v", method, value, len(stack) > 0)
		},
	}}.New(methods().Serve))
	for body, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":1,"method":"fail"}`: {
			`inbound {"jsonrpc":"2.0","id":1,"method":"fail"}`, "1 fail false <nil>",
			"1 fail true a secret", "outbound " + failure("1", -32603, "Internal error")},
		`{"jsonrpc":"2.0","method":"panic"}`: {
			`inbound {"jsonrpc":"2.0","method":"panic"}`, "null panic false <nil>",
			"panic ashes true", "null panic true rpc: the handler of panic panicked: ashes"},
		`{"jsonrpc":"2.0","id":1,"result":2}`: {`inbound {"jsonrpc":"2.0","id":1,"result":2}`,
			`{"jsonrpc":"2.0","id":1,"result":2}: a response to no call that waits`},
		`[]`: {"inbound []", "[]: a batch must not be empty (code -32600)",
			"outbound " + failure("null", -32600, "a batch must not be empty")},
	} {
		mu.Lock()
		got = nil
		mu.Unlock()
		_ = text(t, send(t, "POST", url, body))
		mu.Lock()
		assert.DeepEqual(t, got, want)
		mu.Unlock()
	}
}

// Whatever the body is, the response is none, or one message or a batch of them, of which none is
// larger than the limit, and each request has one.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"subtract","params":[42,23]}`,
		`[{"jsonrpc":"2.0","id":"\u0061","method":"repeat","params":[900]},` +
			`{"jsonrpc":"2.0","method":"note"}]`,
		`[1,{},[],{"jsonrpc":"2.0","id":null,"method":"m"},{"jsonrpc":"2.0","id":1,"result":1}]`,
		`[]`, ``, "\uFEFF{}", `{"jsonrpc":"2.0","id":1e5,"method":"exit"}`, `[[[`,
	} {
		f.Add([]byte(seed))
	}
	const limit = 5000
	r := methods()
	h := rpchttp.HandlerOptions{MaxResponse: limit, MaxBatch: 10}.
		New(func(ctx context.Context, req *rpc.Request) (any, error) {
			if req.Method == "repeat" {
				return strings.Repeat("x", min(len(req.Params)*100, 2*limit)), nil
			}
			return r.Serve(ctx, req)
		})
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequest("POST", "/", strings.NewReader(string(body)))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		requests := 0
		elements, err := rpc.SplitBatch([]byte(strings.TrimPrefix(string(body), "\uFEFF")), 10)
		if elements == nil && err == nil {
			elements = [][]byte{[]byte(strings.TrimPrefix(string(body), "\uFEFF"))}
		}
		for _, element := range elements {
			m, err := rpc.ParseMessage(element)
			if err != nil || !m.IsResponse() && !m.ID.IsZero() {
				requests++
			}
		}
		if err != nil {
			requests = 1
		}
		if w.Code == http.StatusNoContent {
			assert.Equal(t, w.Body.Len(), 0)
			assert.Equal(t, requests, 0)
			return
		}
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Assert(t, json.Valid(w.Body.Bytes()))
		assert.Assert(t, w.Body.Len() <= limit+2*len(body)+10*300)
		answers, err := rpc.SplitBatch(w.Body.Bytes(), 10)
		assert.NilError(t, err)
		if answers == nil {
			answers = [][]byte{w.Body.Bytes()}
		}
		assert.Equal(t, len(answers), requests)
		for _, answer := range answers {
			m, err := rpc.ParseMessage(answer)
			assert.NilError(t, err)
			assert.Assert(t, m.IsResponse())
		}
	})
}
