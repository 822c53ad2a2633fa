package traffic

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Connection is the source of messages of a lane: a connection to a server, or a recording.
type Connection struct {
	number  int
	lane    string
	opened  time.Time
	command []string // as the recording says

	// These maps relate messages to the number of their request. traffic.mu guards them, and each
	// has at most maxRelated entries.
	frames map[int64]int64 // from the number of a frame in its recording
	// The texts in them are keys; see relatedKey.
	tokens  map[string]int64 // from progress tokens
	rounds  map[string]int64 // from the requestState of a result that asks for input
	tasks   map[string]int64 // from the ids of tasks
	open    map[int64]string // ids of requests of the client without a response
	belongs map[int64]int64  // from a request of the server to the client's request it belongs to

	exchanges map[string]*Exchange // by the id of a request of the client, over HTTP
}

const (
	maxRelated     = 1 << 14
	maxConnections = 4096 // that are listed; the timeline shows others, too
)

// Connect returns a new connection of a lane.
func (t *Traffic) Connect(lane string, opened time.Time, command []string) *Connection {
	c := &Connection{lane: lane, opened: opened, command: command, frames: map[int64]int64{},
		tokens: map[string]int64{}, rounds: map[string]int64{}, tasks: map[string]int64{},
		open: map[int64]string{}, belongs: map[int64]int64{},
		exchanges: map[string]*Exchange{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.number = 1
	if n := len(t.connections); n > 0 {
		c.number = t.connections[n-1].number + 1
	}
	t.connections = append(t.connections, c)
	if len(t.connections) > maxConnections {
		t.connections = t.connections[1:]
	}
	return c
}

// Connection returns the connection with a number.
func (t *Traffic) Connection(number int64) (*Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.connections {
		if int64(c.number) == number {
			return c, nil
		}
	}
	return nil, reply.NotFound("connection", number)
}

// NewRecorder returns a recorder that adds its messages to a new connection.
func (t *Traffic) NewRecorder(lane string, command []string) *tap.Recorder {
	c := t.Connect(lane, time.Now(), command)
	return tap.Options{Command: command, Show: func(r *tap.Record) { t.Add(c, r) },
		Warn: func(error) {}}.Start() // warnings are about the written file, and there is none
}

// Record makes a client record its messages. Call end when the client has ended.
func (t *Traffic) Record(lane string, o *client.Options) (end func()) {
	recorder := t.NewRecorder(lane, []string{lane})
	o.Hooks.Frame = func(_ context.Context, d rpc.Direction, frame []byte) {
		side := recorder.Server
		if d == rpc.Outbound {
			side = recorder.Client
		}
		side.Frame(frame)
	}
	return func() { recorder.Close(0, time.Second) }
}

// relatedKey returns a short text that stands for a value of a message, which may have any length.
func relatedKey(value []byte) string {
	if len(value) <= sha256.Size {
		return string(value)
	}
	sum := sha256.Sum256(value)
	return string(sum[:]) + "…" // longer than any short value
}

// remember adds to a map of at most maxRelated entries.
func remember[K comparable, V any](in map[K]V, key K, value V) {
	if len(in) >= maxRelated {
		for k := range in {
			delete(in, k)
			break
		}
	}
	in[key] = value
}

// relate finds the request that a message belongs to. traffic.mu must be held.
func (c *Connection) relate(m *Message) {
	r := m.Record
	text := r.Frame
	if m.Kind == tap.Batch || r.SHA256 != "" {
		text = nil
	}
	params := jsonscan.Member(text, "params")
	switch {
	case m.Kind == tap.Request && m.From == tap.FromClient:
		if token := jsonscan.Member(jsonscan.Member(params, "_meta"), "progressToken"); token != nil {
			remember(c.tokens, relatedKey(token), m.N)
		}
		switch m.Method {
		case mcp.MethodGetTask, mcp.MethodCancelTask, mcp.MethodUpdateTask, mcp.MethodTaskResult:
			m.Call = c.tasks[relatedKey(jsonscan.Member(params, "taskId"))]
		case mcp.MethodListen: // it stays open
		default:
			if state := jsonscan.Member(params, "requestState"); state != nil {
				m.Call = c.rounds[relatedKey(state)]
			}
			remember(c.open, m.N, relatedKey([]byte(m.ID)))
		}
		remember(c.frames, r.N, m.N)
	case m.Kind == tap.Request:
		m.Call = c.openRequest()
		remember(c.frames, r.N, m.N)
		remember(c.belongs, m.N, m.Call)
	case m.Kind == tap.Response:
		m.Request = c.frames[r.RequestFrame]
		delete(c.frames, r.RequestFrame)
		delete(c.open, m.Request)
		m.Call = c.belongs[m.Request]
		delete(c.belongs, m.Request)
		c.relateResult(m, jsonscan.Member(text, "result"))
	case m.Method == mcp.NotificationProgress:
		m.Call = c.tokens[relatedKey(jsonscan.Member(params, "progressToken"))]
	case m.Method == mcp.NotificationCancelled && m.From == tap.FromClient:
		id := relatedKey(jsonscan.Member(params, "requestId"))
		for n, open := range c.open {
			if open == id {
				m.Call = n
				delete(c.open, n)
			}
		}
	case m.Kind == tap.Notification && m.From == tap.FromServer:
		m.Call = c.openRequest()
	}
}

// relateResult remembers the requestState or task id by which later messages of the call refer to
// this result.
func (c *Connection) relateResult(m *Message, result []byte) {
	if m.From != tap.FromServer || m.Request == 0 || len(result) == 0 || result[0] != '{' {
		return
	}
	if state := jsonscan.Member(result, "requestState"); state != nil {
		remember(c.rounds, relatedKey(state), m.Request)
	}
	id := jsonscan.Member(result, "taskId")
	if id == nil {
		id = jsonscan.Member(jsonscan.Member(result, "task"), "taskId")
	}
	if id != nil && m.Method == mcp.MethodCallTool {
		remember(c.tasks, relatedKey(id), m.Request)
	}
}

// openRequest returns the number of the open request of the client if there is exactly one, or 0. A
// legacy server does not say which call a question or log message belongs to.
func (c *Connection) openRequest() int64 {
	if len(c.open) != 1 {
		return 0
	}
	for n := range c.open {
		return n
	}
	return 0
}
