package streamable_test

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

type Query struct {
	City string `json:"city" doc:"City to look up."`
}

type Report struct {
	Sky string `json:"sky"`
}

// Example serves a catalog over HTTP and sends it one call, as a modern client does.
func Example() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "weather.get", Summary: "Current weather.", Type: dispatch.Read},
		func(_ context.Context, q Query) (Report, error) {
			return Report{"clear over " + q.City}, nil
		})
	h := streamable.Options{}.New(
		server.New(server.Info{Name: "weather", Version: "1.0.0"}, catalog))
	defer h.Close()
	site := httptest.NewServer(h) // http.ListenAndServe("127.0.0.1:8080", h), elsewhere
	defer site.Close()

	req, _ := http.NewRequest("POST", site.URL,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
		"name":"weather_get","arguments":{"city":"Oslo"},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", "weather_get")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body)
	fmt.Println(res.Status, strings.Contains(string(answer), "clear over Oslo"))
	// Output: 200 OK true
}

// A server whose clients have one static token.
func ExampleOptions_principal() {
	const token = "t0k3n" // from the environment, elsewhere
	want := sha256.Sum256([]byte("Bearer " + token))
	var o streamable.Options
	o.Principal = func(r *http.Request) (string, error) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return "", errors.New("the token is not the one that was configured")
		}
		return "operator", nil
	}
	h := o.New(server.New(server.Info{Name: "weather", Version: "1.0.0"}, nil))
	defer h.Close()
	for _, authorization := range []string{"", "Bearer wrong", "Bearer " + token} {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
			"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 401
	// 401
	// 200
}

// Shut down the handler first: it ends subscriptions and waits for running calls. The HTTP server
// then has no request left to wait for.
func ExampleHandler_Shutdown() {
	h := streamable.Options{}.New(
		server.New(server.Info{Name: "weather", Version: "1.0.0"}, dispatch.NewCatalog()))
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(h.Shutdown(ctx), s.Shutdown(ctx))
	// Output: <nil> <nil>
}
