package streamable

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A sessionLink sends to the client of a session, on the stream of a request or on a standalone
// stream.
type sessionLink struct {
	s      *session
	stream *stream // nil: a standalone stream
}

// handle handles a message in the session. What the handler sends goes to the stream.
func (l *sessionLink) handle(ctx context.Context, req *rpc.Request) (any, error) {
	handle := func() (any, error) { return l.s.conn.Handle(ctx, req, l) }
	if l.s.isShared() && slices.Contains(changesSession, req.Method) {
		return l.s.change(ctx, req.Method, handle)
	}
	return handle()
}

// errNoStream reaches the client, which can act on it.
var errNoStream = rpc.Errorf(rpc.CodeInvalidRequest,
	"the server must send the client a request, but the client does not accept text/event-stream")

// errNoMemory is the error for a large message that would wait for the client.
var errNoMemory = rpc.Errorf(rpc.CodeBusy,
	"there is no room for a message to the client; try again later")

// Notify implements [server.Link]. A message that belongs to no request waits for a standalone
// stream.
func (l *sessionLink) Notify(ctx context.Context, method string, params any) error {
	text, err := rpc.AppendRequest(nil, rpc.ID{}, method, params)
	if err != nil {
		return err
	}
	if l.stream != nil && !l.stream.acceptsEvents {
		return nil // the client accepts no notifications
	}
	_, err = l.send(ctx, text, nil)
	return err
}

// Call implements [server.Link]. The client answers with a POST of its own.
func (l *sessionLink) Call(ctx context.Context, method string, params, result any) (err error) {
	if l.stream != nil && !l.stream.acceptsEvents {
		return errNoStream
	}
	id, call, err := l.s.newCall()
	if err != nil {
		return err
	}
	defer l.s.forgetCall(id)
	var look <-chan time.Time // never without a store
	if l.s.isShared() {
		if l.s.h.shared.Ask(ctx, l.s.id, id) != nil {
			return errStore
		}
		forget := func() { l.s.h.shared.Forget(l.s.values, l.s.id, id) }
		defer func() {
			if !l.s.h.inBackground(forget) {
				forget() // Close waits for the request
			}
		}()
		ticker := time.NewTicker(answerInterval)
		defer ticker.Stop()
		look = ticker.C
	}
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
	for {
		select {
		case m := <-call.answer:
			return m.Decode(result)
		case <-call.wake:
		case <-look:
		case <-l.s.ctx.Done():
			return context.Cause(l.s.ctx)
		case <-ctx.Done():
			if params := mcp.Cancellation().Params(method, rpc.IntID(id),
				context.Cause(ctx)); params != nil {
				if text, err := rpc.AppendRequest(nil, rpc.ID{}, mcp.NotificationCancelled,
					params); err == nil {
					st.tryAdd(text)
				}
			}
			return fmt.Errorf("streamable: %s: %w", method, context.Cause(ctx))
		}
		if m := l.s.sharedAnswer(ctx, id); m != nil {
			return m.Decode(result)
		}
	}
}

// Flush waits until the client has been sent all queued messages.
func (l *sessionLink) Flush(ctx context.Context) error {
	for {
		l.s.mu.Lock()
		var waits *stream
		for _, st := range l.s.streams {
			if st.reader != nil && st.unread > 0 &&
				(l.stream == nil && st.isStandalone || l.stream == st) {
				waits = st
				break
			}
		}
		if waits == nil || l.s.closed {
			l.s.mu.Unlock()
			return nil
		}
		changed := waits.nextChange()
		l.s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send adds a message to a stream when it has room, and returns the stream. account holds the
// memory of the message and is closed with it; nil: the memory of the session does.
func (l *sessionLink) send(ctx context.Context, text []byte, account *quota.Account) (sent *stream,
	err error) {
	defer func() {
		if err != nil {
			account.Close()
		}
	}()
	for {
		l.s.mu.Lock()
		st := l.stream
		var wait <-chan struct{} = l.s.standaloneOpened
		if st == nil {
			st = l.s.standaloneStream()
		}
		switch {
		case l.s.closed:
			l.s.mu.Unlock()
			return nil, context.Cause(l.s.ctx)
		case st == nil: // wait for one
		case st.complete:
			l.s.mu.Unlock()
			return nil, errAnswered
		case st.reader == nil && !st.started:
			// the client disconnected before it knew an event to resume from
			l.s.mu.Unlock()
			return nil, errDisconnected
		case st.hasRoom(len(text)):
			if account == nil && len(text) > buffer.Small && !l.s.reserve(len(text)) {
				l.s.mu.Unlock()
				return nil, errNoMemory
			}
			st.add(text, account)
			l.s.mu.Unlock()
			l.s.h.evictEvents()
			return st, nil
		default:
			wait = st.nextChange()
		}
		l.s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-l.s.ctx.Done():
			return nil, context.Cause(l.s.ctx)
		}
	}
}

// handleNotification handles a notification, and returns when that is done. The error is that what
// it says could not be kept in the store: the client must send it again.
func (s *session) handleNotification(ctx context.Context, m *rpc.Message) error {
	if m.Method == mcp.NotificationCancelled {
		if id, reason, ok := mcp.Cancellation().Target(m.Params); ok {
			text := id.String()
			if !s.cancelRequest(id, reason) && s.isShared() && len(text) <= maxSharedID {
				_ = s.h.shared.Tell(ctx, shared.Notice{Session: s.id, Cancelled: text,
					Reason: reason[:min(len(reason), 1<<10)]})
			}
		}
		return nil
	}
	if _, err := s.h.answer(ctx, nil, (&sessionLink{s: s}).handle, m.Request()); err == errStore ||
		err == errContended {
		return err
	}
	return nil
}

// handleResponse passes a response of the client to the call that waits for it, on whatever
// replica. A late response is stray.
func (s *session) handleResponse(ctx context.Context, m *rpc.Message, text []byte) *refusal {
	own := rpc.Message{ID: m.ID, Result: bytes.Clone(m.Result)}
	if m.Error != nil {
		own.Error = &rpc.Error{Code: m.Error.Code, Message: m.Error.Message,
			Data: bytes.Clone(m.Error.Data)}
	}
	integer, _ := m.ID.Integer() // as those of newCall; some clients write "1" for 1
	id, _ := strconv.ParseInt(integer.String(), 10, 64)
	s.mu.Lock()
	call, waits := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if !waits {
		asked, refused := s.shareAnswer(ctx, id, text)
		if !asked && refused == nil {
			s.h.observeStray(text, "a response that matches no call in flight")
		}
		return refused
	}
	if hook := s.h.hooks.OtherID; hook != nil && integer != m.ID {
		hook(text)
	}
	call.answer <- &own
	return nil
}

// shareAnswer passes an answer of the client on to the replica that asked. It reports whether one
// did.
func (s *session) shareAnswer(ctx context.Context, call int64, text []byte) (asked bool,
	refused *refusal) {
	if !s.isShared() {
		return false, nil
	}
	release, refused := s.h.acquireWait(s.owner)
	if refused != nil {
		return false, refused
	}
	defer release()
	asked, err := s.h.shared.Answer(ctx, s.id, call, text, s.currentRecord())
	if err != nil {
		return false, s.h.storeRefusal(ctx, err)
	}
	return asked, nil
}

// sharedAnswer returns the answer to a call that another replica has got, or nil.
func (s *session) sharedAnswer(ctx context.Context, call int64) *rpc.Message {
	text, err := s.h.shared.Answered(ctx, s.id, call)
	if err != nil || text == nil {
		return nil // it is asked for again
	}
	m, err := rpc.ParseMessage(text)
	if err != nil {
		return nil // not from a replica: each has parsed it
	}
	return &m
}

// answerInterval is how often the answer to a call is asked for in the store, in case the notice of
// it was lost.
const answerInterval = 2 * time.Second

// lookForAnswer makes a call look for its answer in the store.
func (s *session) lookForAnswer(call int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, waits := s.calls[call]; waits {
		c.look()
	}
}
