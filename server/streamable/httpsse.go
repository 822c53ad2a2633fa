package streamable

import (
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// openHTTPSSE opens the only stream of an HTTP+SSE session, which carries all messages of the
// server (2024-11-05, basic/transports, HTTP with SSE). The session ends with it.
func (x *httpRequest) openHTTPSSE() *refusal {
	if !x.accepts().stream {
		return newRefusal(http.StatusNotAcceptable, rpc.CodeInvalidRequest,
			"Accept must list text/event-stream")
	}
	t, refused := x.acquireStreamSlot()
	if refused != nil {
		return refused
	}
	defer t.release()
	defer x.cancelAtExpiry()()
	s := x.newSession(true)
	defer s.close(errEnded)
	s.mu.Lock()
	st, r := s.newStream(true, true, false)
	s.mu.Unlock()
	if refused := x.addSession(s); refused != nil {
		return refused
	}
	path, _, _ := strings.Cut(x.r.RequestURI, "?")
	if x.o.PublicURL != "" {
		path = x.o.PublicURL
	} else if strings.HasPrefix(path, "//") {
		path = "/" + strings.TrimLeft(path, "/") // a URL that starts with two slashes names a host
	}
	begin, err := sse.Append(nil,
		sse.Event{Type: "endpoint", Data: []byte(path + "?" + sessionParam + "=" + s.id)})
	if err != nil {
		return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
			"the path cannot be sent in an event")
	}
	x.serveStream(st, r, acceptedTypes{stream: true}, begin)
	return nil
}

// postHTTPSSE accepts a message of an HTTP+SSE session. The response is sent on the stream.
func (x *httpRequest) postHTTPSSE(b *buffer.Buffer) *refusal {
	var m rpc.Message
	var err error
	x.message.Do(len(b.B), func() { m, err = rpc.ParseMessage(b.B) })
	if err != nil {
		return x.malformed(b, m.ID, err)
	}
	head := readMessageMeta(&m)
	if refused := x.authorizeMessage(&m, head.subject); refused != nil {
		return refused.forRequest(&m)
	}
	s, refused := x.session(x.r.URL.Query().Get(sessionParam))
	if refused != nil {
		return refused.forRequest(&m)
	}
	defer s.release()
	if m.IsResponse() {
		_ = s.handleResponse(x.r.Context(), &m, b.B) // it is refused only with a store
		return x.writeAccepted()
	}
	t, refused := x.acquireRequestSlot(m.ID.IsZero())
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	s.mu.Lock()
	st := s.standaloneStream()
	s.mu.Unlock()
	switch {
	case st == nil:
		return sessionNotFound().forID(m.ID)
	case m.ID.IsZero():
		ctx := s.newNotificationContext(&x.exchange)
		defer ctx.memory.close()
		_ = s.handleNotification(ctx, &m) // these sessions are not in a store
		return x.writeAccepted()
	}
	ctx := s.newRequestContext(&x.exchange, st)
	if refused := s.addRequest(m.ID, ctx.cancel); refused != nil {
		ctx.end()
		return refused
	}
	id, request, text := m.ID, m.Request(), b.Take()
	serve := func() {
		defer text.Free()
		defer ctx.end()
		var response []byte
		defer func() {
			if s.removeRequest(id) || response == nil {
				return
			}
			var account *quota.Account
			if countedBytes(cap(response)) > 0 {
				account = ctx.memory.release()
			}
			// fails only if the session is closed
			_, _ = ctx.link.send(s.ctx, response, account)
		}()
		response, _ = s.h.answer(ctx, nil, ctx.link.handle, request)
		request.Params = nil
		freeIfLarge(text)
		response, _ = ctx.memory.holdResponse(id, response, 0)
	}
	if m.Method == mcp.MethodInitialize {
		serve() // the next message depends on it
		return x.writeAccepted()
	}
	t.retain()
	x.workers.Run(func() {
		defer t.release()
		serve()
	})
	return x.writeAccepted()
}
