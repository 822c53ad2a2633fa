package streamable

import (
	"context"
	"net/http"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxBatch = 100 // messages

func batchRefusal() *refusal {
	return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest, "batches are not spoken here; send the messages one by one")
}

// postBatch answers several messages in one, which only 2025-03-26 has. They are handled in order, and the responses are one message again.
func (x *httpRequest) postBatch(b *body, elements [][]byte) *refusal {
	if x.header(mcp.HeaderProtocolVersion) == string(mcp.Latest) {
		return batchRefusal()
	}
	if refused := x.checkVersion(); refused != nil {
		return refused
	}
	s, refused := x.session(x.header(mcp.HeaderSessionID))
	if refused != nil {
		return refused
	}
	defer s.release()
	if s.conn.Revision() != mcp.Rev20250326 {
		return batchRefusal()
	}
	messages, answers := make([]batchElement, len(elements)), false
	for i, element := range elements {
		m, err := rpc.ParseMessage(element)
		messages[i] = batchElement{m, element, err}
		answers = answers || err != nil || !m.IsResponse() && !m.ID.IsZero()
	}
	if refused := x.authorizeBatch(messages); refused != nil {
		return refused
	}
	t, refused := x.acquireRequestSlot(!answers)
	if refused != nil {
		return refused
	}
	defer t.release()
	if !answers {
		ctx := s.newRequestContext(x, nil)
		defer ctx.memory.close()
		for i := range messages {
			s.serveBatchElement(ctx, nil, nil, &messages[i], nil, nil)
		}
		return x.writeAccepted()
	}
	return x.runInSession(s, t, x.accepts(), func(ctx context.Context, _ context.CancelCauseFunc, st *stream, own *requestMemory) (func() response, *refusal) {
		text := b.detach()
		size := cap(text.text)
		return func() response {
			defer text.free()
			var responses []byte
			handle := s.handler(st)
			hold := func(id rpc.ID, before, response []byte) []byte {
				kept, refused := own.holdResponse(id, response, size)
				if refused != nil { // the others keep their answers, and the memory goes in which this one was
					kept = append(append(append(make([]byte, 0, len(before)+len(kept)+2), before...), ','), kept...)
				}
				return kept
			}
			for i := range messages {
				responses = s.serveBatchElement(ctx, append(responses, ','), responses, &messages[i], handle, hold)
			}
			if len(responses) == 0 {
				return response{} // all were cancelled
			}
			responses[0] = '['
			return response{text: append(responses, ']')}
		}, nil
	})
}

// authorizeBatch asks whether the caller may send all that is a message.
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

// batchElement is a message of a batch, or why it is none.
type batchElement struct {
	rpc.Message
	text []byte
	err  error
}

// serveBatchElement handles one message, and returns dst with its response, as hold lets it be; or without, as
// it was before.
func (s *session) serveBatchElement(ctx context.Context, dst, before []byte, m *batchElement, handle rpc.Handler, hold func(id rpc.ID, before, response []byte) []byte) []byte {
	switch {
	case m.err != nil:
		s.h.observeStray(m.text, m.err.Error())
		return rpc.AppendError(dst, m.ID, m.err)
	case m.IsResponse():
		s.handleResponse(&m.Message, m.text)
		return before
	case m.ID.IsZero():
		s.handleNotification(ctx, &m.Message)
		return before
	case m.Method == mcp.MethodInitialize:
		return rpc.AppendError(dst, m.ID, rpc.Errorf(rpc.CodeInvalidRequest, "initialize must not be in a batch"))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if refused := s.addRequest(m.ID, cancel); refused != nil {
		null, _ := rpc.ParseID([]byte("null"))
		return rpc.AppendError(dst, null, refused.err)
	}
	response, _ := s.h.answer(ctx, dst, handle, m.Request())
	if s.removeRequest(m.ID) {
		return before
	}
	return hold(m.ID, before, response)
}
