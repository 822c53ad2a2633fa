// Package logging passes the log messages of a gateway's servers on to its clients.
package logging

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

// A Queue forwards log messages of one server to one client. Adding a message does not block: if
// the client does not keep up, the oldest messages are dropped and the client is sent their number.
//
// It accepts none before Start.
type Queue struct {
	Server string // the ID of the server
	// Send sends a message to the client; an error of it is ignored.
	Send func(context.Context, mcp.LoggingMessageParams) error

	mu              sync.Mutex
	ctx             context.Context // for send; nil while the queue accepts no messages
	queued          []queuedLog
	bytes           int
	dropped         int           // messages dropped since the last report
	droppedReported time.Time     // time of the last report
	drained         chan struct{} // closed when run returns; nil if it is not running
	wasRequested    bool          // a request has asked for log messages
}

type queuedLog struct {
	mcp.LoggingMessageParams
	size int
}

// Start accepts messages and sends them with ctx: to the client of its request, if it has one.
func (q *Queue) Start(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ctx = ctx
	q.wasRequested = q.wasRequested || server.LogLevelFrom(ctx) != ""
}

// Stop accepts no more messages. It blocks until the queued ones are sent or the context ends, and
// reports whether a request has ever asked for messages.
func (q *Queue) Stop() (wanted bool) {
	q.mu.Lock()
	q.ctx = nil
	drained, wanted := q.drained, q.wasRequested
	q.mu.Unlock()
	if drained != nil {
		<-drained
	}
	return wanted
}

// Level returns the level that the request's client wants.
func (q *Queue) Level() mcp.LoggingLevel {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx == nil {
		return ""
	}
	return server.LogLevelFrom(q.ctx)
}

// Enqueue adds a message. It does not block.
func (q *Queue) Enqueue(m mcp.LoggingMessageParams, size int) {
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

func (q *Queue) dequeue() mcp.LoggingMessageParams {
	first := q.queued[0]
	q.queued[0] = queuedLog{}
	q.queued = q.queued[1:]
	q.bytes -= first.size
	return first.LoggingMessageParams
}

// run sends messages until the queue is empty.
func (q *Queue) run(ctx context.Context, drained chan struct{}) {
	defer close(drained)
	for {
		m, ok := q.next()
		if !ok {
			return
		}
		_ = q.Send(ctx, m) // fails for a message without data and a client that has disconnected
	}
}

// next returns the next message to send, which may be a report of dropped ones.
func (q *Queue) next() (m mcp.LoggingMessageParams, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped > 0 &&
		(len(q.queued) == 0 || time.Since(q.droppedReported) >= droppedReportInterval) {
		m = mcp.LoggingMessageParams{Level: mcp.LevelWarning, Logger: q.Server,
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

// MoreVerbose returns the level that logs more; "" logs nothing.
func MoreVerbose(a, b mcp.LoggingLevel) mcp.LoggingLevel {
	if a == "" || b != "" && a.AtLeast(b) {
		return b
	}
	return a
}
