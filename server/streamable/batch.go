package streamable

import (
	"context"
	"net/http"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxBatch = 100 // messages

func batchRefusal() *refusal {
	return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
		"batches are not supported; send the messages one by one")
}

// postBatch answers a batch, which only revision 2025-03-26 has. The messages are handled in order,
// and the responses are one array.
func (x *httpRequest) postBatch(b *buffer.Buffer, elements [][]byte) *refusal {
	if x.o.Stateless || x.header(mcp.HeaderProtocolVersion) == string(mcp.Latest) {
		return batchRefusal()
	}
	if refused := x.checkVersion(); refused != nil {
		return refused
	}
	messages, answers, calls := make([]batchElement, len(elements)), false, false
	for i, element := range elements {
		var m rpc.Message
		var err error
		x.message.Do(len(element), func() { m, err = rpc.ParseMessage(element) })
		messages[i] = batchElement{m, element, err}
		answers = answers || err != nil || !m.IsResponse() && !m.ID.IsZero()
		calls = calls || err == nil && m.Method == mcp.MethodCallTool
	}
	if refused := x.authorizeBatch(messages); refused != nil {
		return refused
	}
	id := x.header(mcp.HeaderSessionID)
	if done, refused := x.forward(id, outgoing{body: b.B, isBatch: calls,
		late: !answers, acquire: (*httpRequest).acquireRequest}); done {
		return refused
	}
	s, refused := x.session(id)
	if refused != nil {
		return refused
	}
	defer s.release()
	if s.conn.Revision() != mcp.Rev20250326 {
		return batchRefusal()
	}
	t, refused := x.acquireRequestSlot(!answers)
	if refused != nil {
		return refused
	}
	defer t.release()
	if !answers {
		ctx := s.newNotificationContext(&x.exchange)
		defer ctx.memory.close()
		for i := range messages {
			s.serveBatchElement(ctx, nil, nil, &messages[i], nil, nil)
		}
		return x.writeAccepted()
	}
	return x.runInSession(s, t, rpc.ID{}, x.accepts(),
		func(ctx *requestContext, st *stream) (func() response, *refusal) {
			text := b.Take()
			size := cap(text.B)
			return func() response {
				defer text.Free()
				var responses []byte
				handle := ctx.link.handle
				hold := func(id rpc.ID, before, response []byte) []byte {
					kept, refused := ctx.memory.holdResponse(id, response, size)
					if refused != nil { // drop the memory of this response, and keep the others
						kept = append(append(
							append(make([]byte, 0, len(before)+len(kept)+2), before...), ','),
							kept...)
					}
					return kept
				}
				for i := range messages {
					responses = s.serveBatchElement(ctx, append(responses, ','), responses,
						&messages[i], handle, hold)
				}
				if len(responses) == 0 {
					return response{} // all requests were cancelled
				}
				responses[0] = '['
				return response{text: &buffer.Buffer{B: append(responses, ']')}}
			}, nil
		})
}

// authorizeBatch authorizes all valid messages of a batch.
func (x *httpRequest) authorizeBatch(messages []batchElement) *refusal {
	if x.messageFilter == nil {
		return nil
	}
	all := make([]Message, 0, len(messages))
	for i := range messages {
		if m := &messages[i]; m.err == nil {
			head := readMessageMeta(&m.Message)
			all = append(all, Message{m.Method, string(head.subject), m.Params})
		}
	}
	return x.authorizeMessages(all)
}

// A batchElement is one element of a batch; err is set if it is not a valid message.
type batchElement struct {
	rpc.Message
	text []byte
	err  error
}

// serveBatchElement handles one element and returns dst with the response, after hold has accounted
// for it. If the element gets no response, it returns before.
func (s *session) serveBatchElement(ctx context.Context, dst, before []byte, m *batchElement,
	handle rpc.Handler, hold func(id rpc.ID, before, response []byte) []byte) []byte {
	switch {
	case m.err != nil:
		s.h.observeStray(m.text, m.err.Error())
		return rpc.AppendError(dst, m.ID, m.err)
	case m.IsResponse():
		_ = s.handleResponse(ctx, &m.Message, m.text) // what is refused is lost
		return before
	case m.ID.IsZero():
		_ = s.handleNotification(ctx, &m.Message) // what is refused is lost
		return before
	case m.Method == mcp.MethodInitialize:
		return rpc.AppendError(dst, m.ID,
			rpc.Errorf(rpc.CodeInvalidRequest, "initialize must not be in a batch"))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if refused := s.begin(ctx, m.ID, m.Method, cancel); refused != nil {
		null, _ := rpc.ParseID([]byte("null"))
		return rpc.AppendError(dst, null, refused.err)
	}
	var response []byte
	var cancelled bool
	func() {
		// deferred, because the handler may call runtime.Goexit
		defer func() { cancelled = s.removeRequest(m.ID) }()
		response, _ = s.h.answer(ctx, dst, handle, m.Request())
	}()
	if cancelled {
		return before
	}
	return hold(m.ID, before, response)
}
