package web

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// questions are the input requests of servers that wait for an answer of the user.
type questions struct {
	changes *changes
	// only returns the call that runs on a server, if there is exactly one, or 0.
	only func(server string) int64

	mu      sync.Mutex
	last    int64
	waiting []*question
	roots   map[string]json.RawMessage // the answers to give again, by server
}

// A question is an input request of a server, of either era.
type question struct {
	ID     int64           `json:"id"`
	Server string          `json:"server"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Since  int64           `json:"since"`          // milliseconds since 1970
	Call   int64           `json:"call,omitempty"` // the call it belongs to, if that is known

	answer chan json.RawMessage // capacity 1: the result; nil refuses
}

// maxQuestions is the number of questions of one server that wait. Further ones are refused.
const maxQuestions = 32

func newQuestions(c *changes) *questions {
	return &questions{changes: c, roots: map[string]json.RawMessage{}}
}

// callKey is the key of the number of a call in its context.
type callKey struct{}

var errTooManyQuestions = errors.New("too many questions wait for an answer")

// errRefused is what a server is told that gets no answer (2025-11-25, Sampling, "Error Handling").
var errRefused = &rpc.Error{Code: -1, Message: "the user has refused the request"}

// ask waits until the user has answered an input request, or ctx ends.
func ask[R any](ctx context.Context, q *questions, server, method string, params any) (*R, error) {
	text, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	answer, err := q.ask(ctx, &question{Server: server, Method: method, Params: text})
	if err != nil {
		return nil, err
	}
	result := new(R)
	return result, mcp.Unmarshal(answer, result)
}

func (q *questions) ask(ctx context.Context, one *question) (json.RawMessage, error) {
	call, ok := ctx.Value(callKey{}).(int64)
	if !ok { // a legacy server does not say which call it asks for
		call = q.only(one.Server)
	}
	one.Call = call
	one.Since, one.answer = time.Now().UnixMilli(), make(chan json.RawMessage, 1)
	known, err := q.add(one)
	if err != nil || known != nil {
		return known, err
	}
	q.changes.add(topicQuestions)
	defer q.remove(one)
	select {
	case answer := <-one.answer:
		if answer == nil {
			return nil, errRefused
		}
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// add adds a question, unless the answer is known.
func (q *questions) add(one *question) (known json.RawMessage, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if roots := q.roots[one.Server]; roots != nil && one.Method == mcp.MethodListRoots {
		return roots, nil
	}
	n := 0
	for _, other := range q.waiting {
		if other.Server == one.Server {
			n++
		}
	}
	if n >= maxQuestions {
		return nil, errTooManyQuestions
	}
	q.last++
	one.ID = q.last
	q.waiting = append(q.waiting, one)
	return nil, nil
}

func (q *questions) remove(one *question) {
	q.mu.Lock()
	q.waiting = slices.DeleteFunc(q.waiting, func(other *question) bool { return other == one })
	q.mu.Unlock()
	q.changes.add(topicQuestions)
}

// list returns the questions that wait, the oldest first.
func (q *questions) list() []*question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]*question{}, q.waiting...)
}

// answerOne answers a question. A result that is nil or null refuses it. If always is set, the same
// roots are the answer to all later questions of that server for them.
func (q *questions) answerOne(id int64, result json.RawMessage, always bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.waiting, func(one *question) bool { return one.ID == id })
	if i < 0 {
		return notFound("question", id)
	}
	one := q.waiting[i]
	if string(result) == "null" {
		result = nil
	}
	if always && one.Method == mcp.MethodListRoots {
		q.roots[one.Server] = result
	}
	select {
	case one.answer <- result:
	default: // it is answered already
	}
	return nil
}

// setRoots sets the roots of a server; nil asks again.
func (q *questions) setRoots(server string, roots json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.roots, server); roots != nil {
		q.roots[server] = roots
	}
}
