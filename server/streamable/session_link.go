package streamable

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A link is a way to the client of a session: the stream of one of its requests, or for what belongs to none, one of those that it opened for that.
type sessionLink struct {
	s      *session
	stream *stream // nil: any that was opened with GET
}

// errNoStream reaches the client, which can do something about it.
var errNoStream = rpc.Errorf(rpc.CodeInvalidRequest, "the client has to be asked something, and takes no stream: it must accept text/event-stream")

// errNoMemory is the error for what is large and would wait for a client to read it.
var errNoMemory = rpc.Errorf(rpc.CodeBusy, "there is no room for a message to the client; try again later")

// Notify implements [server.Link]. What belongs to no request waits until the client has a stream for it.
func (l *sessionLink) Notify(ctx context.Context, method string, params any) error {
	text, err := rpc.AppendRequest(nil, rpc.ID{}, method, params)
	if err != nil {
		return err
	}
	if l.stream != nil && !l.stream.acceptsEvents {
		return nil // it hears nothing, as it wants
	}
	_, err = l.send(ctx, text, nil)
	return err
}

// Call implements [server.Link]. The client answers with a POST of its own.
func (l *sessionLink) Call(ctx context.Context, method string, params, result any) (err error) {
	if l.stream != nil && !l.stream.acceptsEvents {
		return errNoStream
	}
	id, answer, err := l.s.newCall()
	if err != nil {
		return err
	}
	defer l.s.forgetCall(id)
	ended := l.s.h.observeCall(rpc.Outbound, rpc.IntID(id), method)
	defer func() { ended(err) }()
	text, err := rpc.AppendRequest(nil, rpc.IntID(id), method, params)
	if err != nil {
		return err
	}
	st, err := l.send(ctx, text, nil)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		return m.Decode(result)
	case <-l.s.ctx.Done():
		return context.Cause(l.s.ctx)
	case <-ctx.Done():
		if params := mcp.Cancellation().Params(method, rpc.IntID(id), context.Cause(ctx)); params != nil {
			if text, err := rpc.AppendRequest(nil, rpc.ID{}, mcp.NotificationCancelled, params); err == nil {
				st.tryAdd(text)
			}
		}
		return fmt.Errorf("streamable: %s: %w", method, context.Cause(ctx))
	}
}

// Flush waits until what was sent has been handed over.
func (l *sessionLink) Flush(ctx context.Context) error {
	for {
		l.s.mu.Lock()
		var waits *stream
		for _, st := range l.s.streams {
			if st.reader != nil && st.unread > 0 && (l.stream == nil && st.isStandalone || l.stream == st) {
				waits = st
				break
			}
		}
		if waits == nil || l.s.closed {
			l.s.mu.Unlock()
			return nil
		}
		changed := waits.changed
		l.s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send puts a message onto a stream that has room for it, and returns that. The account holds the
// message, and is closed with it; nil: the session's memory does.
func (l *sessionLink) send(ctx context.Context, text []byte, account *quota.Account) (sent *stream, err error) {
	defer func() {
		if err != nil {
			account.Close()
		}
	}()
	for {
		l.s.mu.Lock()
		st, wait := l.stream, l.s.standaloneOpened
		if st == nil {
			st = l.s.standaloneStream()
		}
		switch {
		case l.s.closed:
			l.s.mu.Unlock()
			return nil, context.Cause(l.s.ctx)
		case st == nil: // there will be one, or not
		case st.complete:
			l.s.mu.Unlock()
			return nil, errAnswered
		case st.reader == nil && !st.started: // the client has gone, and knows of no event after which to go on
			l.s.mu.Unlock()
			return nil, errDisconnected
		case st.hasRoom(len(text)):
			if account == nil && len(text) > maxPooledBody && !l.s.reserve(len(text)) {
				l.s.mu.Unlock()
				return nil, errNoMemory
			}
			st.add(text, account)
			l.s.mu.Unlock()
			l.s.h.evictEvents()
			return st, nil
		default:
			wait = st.changed
		}
		l.s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// newCall prepares a call of the client.
func (s *session) newCall() (id int64, answer chan *rpc.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) >= maxCalls {
		return 0, nil, errTooManyCalls
	}
	s.lastCall++
	answer = make(chan *rpc.Message, 1)
	s.calls[s.lastCall] = answer
	return s.lastCall, answer, nil
}

func (s *session) forgetCall(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// handleResponse hands a response of the client, with this text, to the call that waits for it. Late ones are nobody's.
func (s *session) handleResponse(m *rpc.Message, text []byte) {
	own := rpc.Message{ID: m.ID, Result: bytes.Clone(m.Result)}
	if m.Error != nil {
		own.Error = &rpc.Error{Code: m.Error.Code, Message: m.Error.Message, Data: bytes.Clone(m.Error.Data)}
	}
	id, err := strconv.ParseInt(m.ID.String(), 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.calls[id]
	if err != nil || answer == nil {
		s.h.observeStray(text, "a response to no call that waits")
		return
	}
	delete(s.calls, id)
	answer <- &own
}
