package rpchttp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

const (
	maxConcurrent = 16  // requests of a batch
	roomForError  = 200 // about the size of the error that replaces a response that is too large
)

// respond serves a message or a batch and returns the response, or nil if there is none.
func (h *Handler) respond(ctx context.Context, body []byte, memory *quota.Account) (
	response []byte) {
	h.frame(ctx, rpc.Inbound, body)
	elements, err := rpc.SplitBatch(body, h.o.MaxBatch)
	room := &responseRoom{memory: memory}
	room.left.Store(h.o.MaxResponse)
	switch {
	case err != nil:
		h.stray(body, err.Error())
		response = rpc.AppendError(nil, rpc.ID{}, err)
	case elements != nil:
		response = h.respondBatch(ctx, elements, room)
	default:
		if m, refused := h.parse(body); m != nil {
			response = h.call(ctx, m, room)
		} else {
			response = refused
		}
	}
	if response != nil {
		h.frame(ctx, rpc.Outbound, response)
	}
	return response
}

// A responseRoom is what is left for the responses to one POST.
type responseRoom struct {
	left   atomic.Int64 // bytes of HandlerOptions.MaxResponse
	memory *quota.Account
	batch  bool // each response is copied once more
}

// take takes the room for a response, or returns the error that is sent in its place.
func (r *responseRoom) take(response []byte, limit int64) *rpc.Error {
	size := int64(len(response) + len(","))
	if r.left.Add(-size) < 0 {
		r.left.Add(size)
		return rpc.Errorf(rpc.CodeInternalError,
			"the response of %d bytes is too large; responses to one POST may have %d",
			len(response), limit)
	}
	var err error
	if r.batch {
		err = r.memory.Take(2 * size)
	} else if size > smallBody {
		err = r.memory.Take(size)
	}
	if err != nil {
		return rpc.Errorf(rpc.CodeBusy,
			"the call was made, but there is no memory for its response of %d bytes", len(response))
	}
	return nil
}

func (h *Handler) respondBatch(ctx context.Context, elements [][]byte, room *responseRoom) []byte {
	room.batch = true
	room.left.Add(int64(-len("[]") - len(elements)*roomForError))
	responses := make([][]byte, len(elements))
	slots := make(chan struct{}, maxConcurrent)
	var running sync.WaitGroup
	for i, element := range elements {
		m, refused := h.parse(element)
		switch {
		case m == nil:
			responses[i] = refused
		case m.ID.IsZero():
			h.call(ctx, m, room)
		default:
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				responses[i] = h.call(ctx, m, room)
			})
		}
	}
	running.Wait()
	var all []byte
	for _, response := range responses {
		if response != nil {
			all = append(append(all, ','), response...)
		}
	}
	if all == nil {
		return nil
	}
	all[0] = '['
	return append(all, ']')
}

// parse returns a request or a notification, or the response to what is neither. That is nil for a
// response, which is a response to nothing.
func (h *Handler) parse(text []byte) (m *rpc.Message, refused []byte) {
	parsed, err := rpc.ParseMessage(text)
	switch {
	case err != nil:
		h.stray(text, err.Error())
		return nil, rpc.AppendError(nil, parsed.ID, err)
	case parsed.IsResponse():
		h.stray(text, "a response to no call that waits")
		return nil, nil
	}
	return &parsed, nil
}

// call calls the handler and returns the response, or nil for a notification.
func (h *Handler) call(ctx context.Context, m *rpc.Message, room *responseRoom) (response []byte) {
	hook, start := h.o.Hooks.Call, time.Now()
	if hook != nil {
		hook(rpc.CallEvent{Direction: rpc.Inbound, ID: m.ID, Method: m.Method})
	}
	var err error
	exited := contain.Run(func() { // AppendResponse recovers from panics, but not from Goexit
		response, err = rpc.AppendResponse(ctx, nil, h.handler, m.Request())
	})
	if exited != nil {
		err = &rpc.PanicError{Method: m.Method, Value: exited.Value, Stack: exited.Stack}
		if !m.ID.IsZero() {
			response = rpc.AppendError(nil, m.ID, rpc.ErrInternal)
		}
	}
	if panicked, ok := errors.AsType[*rpc.PanicError](err); ok {
		h.o.Hooks.Panic(m.Method, panicked.Value, panicked.Stack)
	}
	if response != nil {
		if refused := room.take(response, h.o.MaxResponse); refused != nil {
			response = rpc.AppendError(nil, m.ID, refused)
		}
	}
	if hook != nil {
		hook(rpc.CallEvent{Direction: rpc.Inbound, ID: m.ID, Method: m.Method, End: true,
			Duration: time.Since(start), Err: err})
	}
	return response
}

func (h *Handler) frame(ctx context.Context, d rpc.Direction, body []byte) {
	if h.o.Hooks.CallsFrame() {
		h.o.Hooks.Frame(ctx, d, body)
	}
}

func (h *Handler) stray(text []byte, reason string) {
	if h.o.Hooks.Stray != nil {
		h.o.Hooks.Stray(text, reason)
	}
}
