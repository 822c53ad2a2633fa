package tap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// mockDrain is how long requests may go on after the client has closed its end.
const mockDrain = 5 * time.Second

// Serve serves a client on stream until the client closes it, which is not an error, or ctx ends.
// It answers each request with the response to the first equal request of the recording that is not
// used. Before that it sends the server's notifications and requests that belong to the request; it
// waits for the client's responses that the recorded server waited for. Requests that are in
// progress at the same time and are equal get their responses in any order. Serve must be called
// once.
func (m *Mock) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	peer := rpc.NewPeer(stream, rpc.Options{Handler: m.handle, Framing: framing.Auto,
		Cancellation: mcp.Cancellation(), Batch: true, Drain: mockDrain})
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
	if req.Method != mcp.MethodDiscover || err.Code != rpc.CodeMethodNotFound {
		m.OnMiss(err.Message)
	} // else it is how a client finds out that a server is of a revision before 2026-07-28
	return nil, err
}

// send sends a message of the server, and waits for the response if the recorded server did. It
// does not send progress that the client has not asked for.
func (m *Mock) send(ctx context.Context, req *rpc.Request, s *serverMessage) error {
	var params any // not a nil rawJSON, which would be sent as nothing
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
			return nil // as good as any other response
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
