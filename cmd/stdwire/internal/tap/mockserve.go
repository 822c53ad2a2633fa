package tap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// mockDrain is how long requests may go on after the client has closed its end.
const mockDrain = 5 * time.Second

// Serve serves a client on stream until the client closes it, which is not an error, or ctx ends.
// The client chooses the framing. Closing stream must end a blocked Read. Serve must be called
// once.
//
// Each request gets the response to the same request in the recording. Equal requests get their
// responses in recorded order; those that are in progress at the same time, in any order. Before
// the response, Serve sends the notifications and requests of the server that belong to the
// request: progress with its token, and what the server sent while the request was the client's
// last one without a response, or after the response and before the next message of the client. It
// waits for responses of the client that came before the server's response in the recording.
func (m *Mock) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	peer := rpc.Options{Handler: m.handle, Framing: framing.Auto,
		Cancellation: mcp.Cancellation(), Batch: true, Drain: mockDrain}.New(stream)
	stop := context.AfterFunc(ctx, func() { _ = peer.Close() })
	defer stop()
	if err := peer.Wait(); ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	return ctx.Err()
}

func (m *Mock) handle(ctx context.Context, req *rpc.Request) (any, error) {
	e, params := m.take(req.Method, req.Params, req.IsNotification())
	if e == nil {
		return m.handleMiss(req, params)
	}
	if req.Method == mcp.MethodListen {
		m.mu.Lock()
		m.listen[e.id], m.listen[""] = req.ID, req.ID
		m.mu.Unlock()
	}
	for _, s := range e.messages {
		if err := m.send(ctx, req, s); err != nil {
			return nil, err
		}
	}
	switch {
	case req.IsNotification():
		return nil, nil
	case e.truncated != 0:
		err := missError(rpc.CodeInternalError, fmt.Sprintf(
			"the response in frame %d of the recording is truncated", e.truncated), "")
		m.OnMiss(err.Message)
		return nil, err
	case e.err != nil:
		return nil, e.err
	case e.result != nil:
		return m.withSubscriptionID(e.result), nil
	}
	req.Detach() // the server did not respond
	<-ctx.Done()
	return nil, ctx.Err()
}

// handleMiss handles a message that the recording does not have.
func (m *Mock) handleMiss(req *rpc.Request, params []byte) (any, error) {
	switch {
	case req.IsNotification():
		return nil, nil
	case req.Method == mcp.MethodPing:
		return struct{}{}, nil
	}
	err := m.miss(req.Method, params)
	// A client sends server/discover to find out whether the server is of an older revision.
	isProbe := req.Method == mcp.MethodDiscover &&
		slices.ContainsFunc(m.exchanges, hasMethod(mcp.MethodInitialize))
	if !isProbe {
		m.OnMiss(err.Message)
	}
	return nil, err
}

// send sends a message of the server, and waits for the response if the recorded server did. It
// does not send progress that the client has not asked for.
func (m *Mock) send(ctx context.Context, req *rpc.Request, s *serverMessage) error {
	var params any // nil if absent
	switch {
	case s.method == mcp.NotificationProgress:
		token := progressToken(req.Params)
		if token == nil {
			return nil
		}
		params = rawJSON(withMember(s.params, mcp.MetaProgressToken, token))
	case s.params != nil:
		params = m.withSubscriptionID(s.params)
	}
	switch peer := req.Peer(); {
	case !s.request:
		return peer.Notify(ctx, s.method, params)
	case s.answered:
		err := peer.Call(ctx, s.method, params, nil)
		if _, refused := errors.AsType[*rpc.Error](err); refused {
			return nil // an error is a response as well
		}
		return err
	default:
		call, err := peer.Start(ctx, s.method, params)
		if err == nil {
			go func() { _ = call.Wait(context.WithoutCancel(ctx), nil) }() // ends with the peer
		}
		return err
	}
}

// withSubscriptionID returns params or a result with the id of the client's subscriptions/listen
// request in place of the recorded one.
func (m *Mock) withSubscriptionID(object rawJSON) rawJSON {
	meta := jsonscan.Member(object, "_meta")
	recorded := jsonscan.Member(meta, mcp.MetaSubscriptionID)
	m.mu.Lock()
	id := cmp.Or(m.listen[string(recorded)], m.listen[""])
	m.mu.Unlock()
	if recorded == nil || id.IsZero() {
		return object
	}
	meta = withMember(meta, mcp.MetaSubscriptionID, id.AppendJSON(nil))
	return withMember(object, "_meta", meta)
}
