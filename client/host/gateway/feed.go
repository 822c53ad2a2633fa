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
	maxLogs     = 256     // messages that wait in a feed
	maxLogBytes = 1 << 20 // of all of them
	// toldDropped is how often a client is told at most that messages were dropped.
	toldDropped = time.Second
)

// A feed passes log messages of one server on to one client. Who puts one in does not wait: when the client does not keep up, the oldest are dropped, and it is told how many.
type feed struct {
	server string
	send   func(context.Context, mcp.LoggingMessageParams) error

	mu      sync.Mutex
	ctx     context.Context // nil: the client is not there
	waiting []waiting
	bytes   int
	dropped int           // since the client was told
	told    time.Time     // when it was
	idle    chan struct{} // closed when run has ended; nil if it does not run
	wanted  bool          // some request has wanted to hear
}

type waiting struct {
	mcp.LoggingMessageParams
	size int
}

// start has messages passed on; where ctx is that of a request, to the client of that.
func (f *feed) start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx = ctx
	f.wanted = f.wanted || server.LogLevelFrom(ctx) != ""
}

// stop passes on what waits, and nothing more after that. It blocks as long as the client does not read and the context lives. It reports whether a client has ever wanted to hear.
func (f *feed) stop() (wanted bool) {
	f.mu.Lock()
	f.ctx = nil
	idle, wanted := f.idle, f.wanted
	f.mu.Unlock()
	if idle != nil {
		<-idle
	}
	return wanted
}

// level is from which on the client of the request wants to hear.
func (f *feed) level() mcp.LoggingLevel {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil {
		return ""
	}
	return server.LogLevelFrom(f.ctx)
}

// put has a message passed on. It does not block.
func (f *feed) put(m mcp.LoggingMessageParams, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil {
		return
	}
	f.waiting = append(f.waiting, waiting{m, size})
	f.bytes += size
	for len(f.waiting) > maxLogs || f.bytes > maxLogBytes {
		f.shift()
		f.dropped++
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
		go f.run(f.ctx, f.idle)
	}
}

func (f *feed) shift() mcp.LoggingMessageParams {
	first := f.waiting[0]
	f.waiting[0] = waiting{}
	f.waiting = f.waiting[1:]
	f.bytes -= first.size
	return first.LoggingMessageParams
}

// run passes on what waits, until nothing does.
func (f *feed) run(ctx context.Context, idle chan struct{}) {
	defer close(idle)
	for {
		m, ok := f.next()
		if !ok {
			return
		}
		_ = f.send(ctx, m) // one without data cannot be sent, and nothing to who has gone
	}
}

// next returns what is to be sent next; now and then, how many messages are missing.
func (f *feed) next() (m mcp.LoggingMessageParams, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped > 0 && (len(f.waiting) == 0 || time.Since(f.told) >= toldDropped) {
		m = mcp.LoggingMessageParams{Level: mcp.LevelWarning, Logger: f.server, Data: fmt.Appendf(nil, `{"message":"log messages were dropped: they come faster than they are read","dropped":%d}`, f.dropped)}
		f.dropped, f.told = 0, time.Now()
		return m, true
	}
	if len(f.waiting) == 0 {
		f.idle, f.waiting = nil, nil
		return m, false
	}
	return f.shift(), true
}
