// Package messagewatch keeps the messages of a gateway while somebody watches them, by the lanes of
// its servers and clients.
package messagewatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socketserver"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/rpc"
)

// Messages keeps the latest messages of a gateway during a watch, which a call of
// host.messages begins. Without a watch, a message costs the read of one flag.
type Messages struct {
	on atomic.Bool

	mu        sync.Mutex
	recorders map[lane]*tap.Recorder
	clients   *clientLanes
	kept      []ops.Message
	first     int64 // the position of kept[0]
	size      int   // of kept, in bytes
	grown     chan struct{}
	end       *time.Timer // ends the watch
}

const (
	watchTimeout   = 2 * time.Minute // without a call of host.messages, after which the watch ends
	maxWatched     = 8192            // messages
	maxWatchedSize = 32 << 20        // bytes
	maxWatchedPage = 1 << 20         // bytes of an answer, if that is more than one message
)

// A lane groups the messages of one server or client.
type lane struct {
	name   string // for people
	client bool
}

// New returns a Messages without a watch.
func New() *Messages {
	return &Messages{recorders: map[lane]*tap.Recorder{}, clients: newClientLanes(),
		grown: make(chan struct{})}
}

// Observe sets the hook for the connections to a server.
func (w *Messages) Observe(h *rpc.Hooks, server string) {
	w.observeBy(h, tap.FromClient,
		func(context.Context, []byte) lane { return lane{name: server} })
}

// ObserveClients sets the hook for the connections to clients.
func (w *Messages) ObserveClients(h *rpc.Hooks) {
	w.observeBy(h, tap.FromServer, func(ctx context.Context, frame []byte) lane {
		return lane{w.clients.lane(ctx, frame), true}
	})
}

// observeBy sets the hook. outbound is the direction of outbound frames in the recording, and
// laneOf returns the lane of a message.
func (w *Messages) observeBy(h *rpc.Hooks, outbound tap.Direction,
	laneOf func(ctx context.Context, frame []byte) lane) {
	h.FrameEnabled = &w.on
	h.Frame = func(ctx context.Context, d rpc.Direction, frame []byte) {
		if socketserver.IsOwner(ctx) {
			return
		}
		from := outbound
		if d == rpc.Inbound {
			from = outbound.Other()
		}
		if r := w.recorder(laneOf(ctx, frame)); r != nil {
			side := r.Client
			if from == tap.FromServer {
				side = r.Server
			}
			side.Frame(frame)
		}
	}
}

// recorder returns the recorder of a lane, or nil if nobody watches any more.
func (w *Messages) recorder(l lane) *tap.Recorder {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on.Load() {
		return nil
	}
	r := w.recorders[l]
	if r == nil {
		r = tap.Options{Command: []string{l.name}, Warn: func(error) {}, // it writes nothing
			Show: func(r *tap.Record) { w.add(l, r) }}.Start()
		w.recorders[l] = r
	}
	return r
}

// add keeps a message.
func (w *Messages) add(l lane, r *tap.Record) {
	line, err := r.Append(nil)
	if err != nil {
		return // the record has no frame
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, ops.Message{Lane: l.name, Client: l.client, Record: string(line)})
	w.size += len(line)
	for len(w.kept) > maxWatched || w.size > maxWatchedSize {
		w.size -= len(w.kept[0].Record)
		w.kept[0] = ops.Message{} // append reuses the array for a while
		w.kept = w.kept[1:]
		w.first++
	}
	close(w.grown)
	w.grown = make(chan struct{})
}

// Since is [ops.Options.Messages].
func (w *Messages) Since(ctx context.Context, after int64) ops.MessagesOutput {
	w.watch()
	for {
		out, grown := w.page(after)
		if len(out.Messages) > 0 {
			return out
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return out
		}
	}
}

// watch begins a watch or extends it.
func (w *Messages) watch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on.Store(true)
	if w.end == nil {
		w.end = time.AfterFunc(watchTimeout, w.Close)
	}
	w.end.Reset(watchTimeout)
}

// page returns messages after a position, and a channel that is closed when there are more.
func (w *Messages) page(after int64) (ops.MessagesOutput, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := ops.MessagesOutput{Messages: []ops.Message{}, Missed: max(0, w.first-after)}
	from := min(max(after, w.first), w.first+int64(len(w.kept)))
	size := 0
	for _, m := range w.kept[from-w.first:] {
		if size += len(m.Record); size > maxWatchedPage && len(out.Messages) > 0 {
			break
		}
		out.Messages = append(out.Messages, m)
	}
	out.Next = from + int64(len(out.Messages))
	return out, w.grown
}

// Close ends the watch and forgets the messages.
func (w *Messages) Close() {
	w.on.Store(false)
	w.mu.Lock()
	recorders := w.recorders
	w.recorders = map[lane]*tap.Recorder{}
	w.clients.clear()
	w.mu.Unlock()
	for _, r := range recorders { // without mu, which add needs
		r.Close(0, time.Second)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end.Stop()
	}
	w.first += int64(len(w.kept))
	w.kept, w.size = nil, 0
}
