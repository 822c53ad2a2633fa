package streamable

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// optionsHeader returns Options.Header without the headers of the protocol.
func (c *conn) optionsHeader() http.Header {
	own := make(http.Header, len(c.options.Header))
	for name, values := range c.options.Header {
		own[http.CanonicalHeaderKey(name)] = values
	}
	for _, name := range []string{mcp.HeaderMethod, mcp.HeaderName, mcp.HeaderSessionID,
		mcp.HeaderProtocolVersion, lastEventID} {
		delete(own, name)
	}
	return own
}

// Header values that never change, shared between requests. They must not be modified.
var (
	contentJSON  = []string{"application/json"}
	acceptBoth   = []string{"application/json, text/event-stream"}
	acceptEvents = []string{"text/event-stream"}
	noStore      = []string{"no-store"}
)

// request returns an HTTP request with the headers of legacy revisions; modernHeaders adds those of
// modern ones.
func (c *conn) request(ctx context.Context, method string, body []byte,
	s *legacyState) *http.Request {
	target := c.url
	if s.endpoint != nil && method == http.MethodPost {
		target = s.endpoint
	}
	own := http.Request{Method: method, URL: target, Header: maps.Clone(c.header),
		Host: c.header.Get("Host")}
	if body != nil {
		own.ContentLength = int64(len(body))
		own.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(body)), nil
		}
		own.Body, _ = own.GetBody()
	}
	req := own.WithContext(ctx) // http.NewRequest would parse the URL again
	switch method {
	case http.MethodPost:
		req.Header["Content-Type"], req.Header["Accept"] = contentJSON, acceptBoth
	case http.MethodGet:
		req.Header["Accept"], req.Header["Cache-Control"] = acceptEvents, noStore
	}
	if s.sessionID != "" {
		req.Header[mcp.HeaderSessionID] = []string{s.sessionID}
	}
	if s.revision != "" && s.endpoint == nil {
		req.Header[mcp.HeaderProtocolVersion] = []string{s.revision}
	}
	return req
}

const lastEventID = "Last-Event-Id"

// modernHeaders sets the headers that repeat a modern request's metadata (2026-07-28, Streamable
// HTTP, "Request Metadata").
func (c *conn) modernHeaders(h http.Header, revision, method string, params []byte) error {
	values := [...]string{revision, paramheader.Encode(method), ""} // one allocation
	h[mcp.HeaderProtocolVersion], h[mcp.HeaderMethod] = values[0:1:1], values[1:2:2]
	name := ""
	if m, _ := mcp.MethodAt(method, mcp.Latest); m.NameParam != "" {
		name, _ = jsonscan.Text(jsonscan.Member(params, m.NameParam))
		values[2] = paramheader.Encode(name)
		h[mcp.HeaderName] = values[2:3:3]
	}
	const prefix = paramheader.Prefix
	for key := range h { // from Options.Header
		if len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix) {
			delete(h, key)
		}
	}
	if method != mcp.MethodCallTool {
		return nil
	}
	more, err := c.link.ToolHeaders(name, params)
	for header, value := range more {
		h[http.CanonicalHeaderKey(header)] = []string{paramheader.Encode(value)}
	}
	return err
}

// idempotentMethods are the requests that net/http may send again if an idle connection turns out
// to be closed.
var idempotentMethods = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, revision := range mcp.Supported() {
		for m := range mcp.Methods(revision) {
			if m.Idempotent {
				all[m.Name] = true
			}
		}
	}
	return all
})

// markIdempotent marks a request as idempotent for net/http. A header without values is not sent.
func markIdempotent(h http.Header) { h["Idempotency-Key"] = []string{} }
