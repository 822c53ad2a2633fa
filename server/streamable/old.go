package streamable

import (
	"context"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// oldSession is the parameter of the address for messages that names the session, in the transport of 2024-11-05.
const oldSession = "sessionId"

// isOld reports whether the request is a message of the transport of 2024-11-05.
func (x *exchange) isOld() bool {
	return x.o.HTTPSSE && x.header(mcp.HeaderSessionID) == "" && x.r.URL.RawQuery != "" && x.r.URL.Query().Has(oldSession)
}

// openOld opens the stream of 2024-11-05, on which everything comes that the server says (2024-11-05, basic/transports, HTTP with SSE). The session ends with it.
func (x *exchange) openOld() *refusal {
	if !x.accepts().stream {
		return refuse(http.StatusNotAcceptable, rpc.CodeInvalidRequest, "Accept must list text/event-stream")
	}
	t, refused := x.takeStream()
	if refused != nil {
		return refused
	}
	defer t.giveBack()
	defer x.expire()()
	s := x.newSession(x.principal, true)
	defer s.end(errEnded)
	s.mu.Lock()
	st, r := s.newStream(true, true, false)
	s.mu.Unlock()
	if refused := x.add(s); refused != nil {
		return refused
	}
	path, _, _ := strings.Cut(x.r.RequestURI, "?")
	if strings.HasPrefix(path, "//") {
		path = "/" + strings.TrimLeft(path, "/") // behind two slashes there would be the name of a host
	}
	begin, err := sse.Append(nil, sse.Event{Type: "endpoint", Data: []byte(path + "?" + oldSession + "=" + s.id)})
	if err != nil {
		return refuse(http.StatusBadRequest, rpc.CodeInvalidRequest, "the path cannot be told")
	}
	x.attend(st, r, accepted{stream: true}, begin)
	return nil
}

// postOld takes a message of that transport. What answers it comes on the stream.
func (x *exchange) postOld(b *body) *refusal {
	m, err := rpc.ParseMessage(b.text)
	if err != nil {
		return x.malformed(b, m.ID, err)
	}
	head := readHead(&m)
	if refused := x.mayOne(&m, head.subject); refused != nil {
		return refused.toRequest(&m)
	}
	s, refused := x.session(x.r.URL.Query().Get(oldSession))
	if refused != nil {
		return refused.toRequest(&m)
	}
	defer s.rest()
	if m.IsResponse() {
		s.answered(&m, b.text)
		return x.accepted()
	}
	t, refused := x.takeRequest(m.ID.IsZero())
	if refused != nil {
		return refused.to(m.ID)
	}
	defer t.giveBack()
	s.mu.Lock()
	st := s.own()
	s.mu.Unlock()
	switch {
	case st == nil:
		return sessionGone().to(m.ID)
	case m.ID.IsZero():
		ctx := s.context(x, st)
		defer ctx.memory.close()
		s.notice(ctx, &m)
		return x.accepted()
	}
	own := s.context(x, st)
	ctx, cancel := context.WithCancelCause(own)
	if refused := s.begin(m.ID, cancel); refused != nil {
		cancel(nil)
		own.memory.close()
		return refused
	}
	id, request, text := m.ID, m.Request(), b.takeOver()
	serve := func() {
		defer text.free()
		defer cancel(nil)
		defer own.memory.close()
		var response []byte
		defer func() {
			if s.done(id) || response == nil {
				return
			}
			var account *quota.Account
			if counted(cap(response)) > 0 {
				account = own.memory.release()
			}
			_, _ = (&link{s: s, stream: st}).send(s.ctx, response, account) // it fails when the session has ended
		}()
		response, _ = s.h.answer(ctx, nil, s.handler(st), request)
		request.Params = nil
		text.drop()
		response, _ = own.memory.hold(id, response, 0)
	}
	if m.Method == mcp.MethodInitialize {
		serve() // what comes next may depend on it
		return x.accepted()
	}
	t.share()
	go func() {
		defer t.giveBack()
		serve()
	}()
	return x.accepted()
}
