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
func (q *logQueue) start(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ctx = ctx
	q.wasRequested = q.wasRequested || server.LogLevelFrom(ctx) != ""
}

// stop sends the queued messages and accepts no more. It blocks until they are sent or the context
// ends, and reports whether a client has ever asked for messages.
func (q *logQueue) stop() (wanted bool) {
	q.mu.Lock()
	q.ctx = nil
	drained, wanted := q.drained, q.wasRequested
	q.mu.Unlock()
	if drained != nil {
		<-drained
	}
	return wanted
}

// level returns the level that the request's client wants.
func (q *logQueue) level() mcp.LoggingLevel {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx == nil {
		return ""
	}
	return server.LogLevelFrom(q.ctx)
}

// enqueue adds a message. It does not block.
func (q *logQueue) enqueue(m mcp.LoggingMessageParams, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx == nil {
		return
	}
	q.queued = append(q.queued, queuedLog{m, size})
	q.bytes += size
	for len(q.queued) > maxLogs || q.bytes > maxLogBytes {
		q.dequeue()
		q.dropped++
	}
	if q.drained == nil {
		q.drained = make(chan struct{})
		go q.run(q.ctx, q.drained)
	}
}

func (q *logQueue) dequeue() mcp.LoggingMessageParams {
	first := q.queued[0]
	q.queued[0] = queuedLog{}
	q.queued = q.queued[1:]
	q.bytes -= first.size
	return first.LoggingMessageParams
}

// run sends messages until the queue is empty.
func (q *logQueue) run(ctx context.Context, drained chan struct{}) {
	defer close(drained)
	for {
		m, ok := q.next()
		if !ok {
			return
		}
		_ = q.send(ctx, m) // one without data cannot be sent, and nothing to who has gone
	}
}

// next returns the next message to send, which may be a report of dropped ones.
func (q *logQueue) next() (m mcp.LoggingMessageParams, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped > 0 &&
		(len(q.queued) == 0 || time.Since(q.droppedReported) >= droppedReportInterval) {
		m = mcp.LoggingMessageParams{Level: mcp.LevelWarning, Logger: q.server,
			Data: fmt.Appendf(nil,
				`{"message":"log messages were dropped: they come faster than they are read","dropped":%d}`,
				q.dropped)}
		q.dropped, q.droppedReported = 0, time.Now()
		return m, true
	}
	if len(q.queued) == 0 {
		q.drained, q.queued = nil, nil
		return m, false
	}
	return q.dequeue(), true
}
