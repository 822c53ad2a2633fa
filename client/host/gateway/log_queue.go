package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	maxLogs     = 256     // messages in a queue
	maxLogBytes = 1 << 20 // bytes of all messages in a queue
	// droppedReportInterval is the shortest time between two reports of dropped messages.
	droppedReportInterval = time.Second
)

// A logQueue forwards log messages of one server to one client. Adding a message does not block: if
// the client does not keep up, the oldest messages are dropped and the client is sent their number.
type logQueue struct {
	server string
	send   func(context.Context, mcp.LoggingMessageParams) error

	mu              sync.Mutex
	ctx             context.Context // nil if there is no client to send to
	queued          []queuedLog
	bytes           int
	dropped         int           // messages dropped since the last report
	droppedReported time.Time     // time of the last report
	drained         chan struct{} // closed when run returns; nil if it is not running
	wasRequested    bool          // some request has asked for log messages
}

type queuedLog struct {
	mcp.LoggingMessageParams
	size int
}

// start sends messages in ctx: to the client of its request, if it has one.
func (f *logQueue) start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx = ctx
	f.wasRequested = f.wasRequested || server.LogLevelFrom(ctx) != ""
}

// stop sends the queued messages and accepts no more. It blocks until they are sent or the context
// ends, and reports whether a client has ever asked for messages.
func (f *logQueue) stop() (wanted bool) {
	f.mu.Lock()
	f.ctx = nil
	idle, wanted := f.drained, f.wasRequested
	f.mu.Unlock()
	if idle != nil {
		<-idle
	}
	return wanted
}

// level returns the level that the request's client wants.
func (f *logQueue) level() mcp.LoggingLevel {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil {
		return ""
	}
	return server.LogLevelFrom(f.ctx)
}

// enqueue adds a message. It does not block.
func (f *logQueue) enqueue(m mcp.LoggingMessageParams, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil {
		return
	}
	f.queued = append(f.queued, queuedLog{m, size})
	f.bytes += size
	for len(f.queued) > maxLogs || f.bytes > maxLogBytes {
		f.dequeue()
		f.dropped++
	}
	if f.drained == nil {
		f.drained = make(chan struct{})
		go f.run(f.ctx, f.drained)
	}
}

func (f *logQueue) dequeue() mcp.LoggingMessageParams {
	first := f.queued[0]
	f.queued[0] = queuedLog{}
	f.queued = f.queued[1:]
	f.bytes -= first.size
	return first.LoggingMessageParams
}

// run sends messages until the queue is empty.
func (f *logQueue) run(ctx context.Context, idle chan struct{}) {
	defer close(idle)
	for {
		m, ok := f.next()
		if !ok {
			return
		}
		_ = f.send(ctx, m) // one without data cannot be sent, and nothing to who has gone
	}
}

// next returns the next message to send, which may be a report of dropped ones.
func (f *logQueue) next() (m mcp.LoggingMessageParams, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped > 0 &&
		(len(f.queued) == 0 || time.Since(f.droppedReported) >= droppedReportInterval) {
		m = mcp.LoggingMessageParams{Level: mcp.LevelWarning, Logger: f.server,
			Data: fmt.Appendf(nil,
				`{"message":"log messages were dropped: they come faster than they are read","dropped":%d}`,
				f.dropped)}
		f.dropped, f.droppedReported = 0, time.Now()
		return m, true
	}
	if len(f.queued) == 0 {
		f.drained, f.queued = nil, nil
		return m, false
	}
	return f.dequeue(), true
}
