package web

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// questions are the input requests of servers that wait for an answer of the user.
type questions struct {
	changes *changes.Changes
	// callOn returns the id of the call that runs on a server if there is exactly one, or 0.
	callOn func(server string) int64
	// sampler answers sampling requests unless the user answers first; nil if only the user
	// answers.
	sampler func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)

	mu      sync.Mutex
	last    int64
	waiting []*question
	roots   map[string]json.RawMessage // the answer to all requests for roots, by server
	asking  map[string]bool            // servers whose requests for roots the user answers
	// rootsOf returns the roots of a server for which the user has set none; nil if the user is
	// asked.
	rootsOf func(server string) []string
}

// A question is an input request of a server, of either era.
type question struct {
	ID     int64           `json:"id"`
	Server string          `json:"server"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Since  int64           `json:"since"`          // milliseconds since 1970
	Call   int64           `json:"call,omitempty"` // the call it belongs to, if that is known

	// Command says that the command of --sample is running, or why it failed; "" without a command.
	Command string `json:"command,omitempty"`

	roots  []string             // of the default answer to a request for roots; nil: none
	answer chan json.RawMessage // capacity 1: the result; nil refuses
	// sample, unless nil, runs the command of --sample, until ctx ends.
	sample func(ctx context.Context) (json.RawMessage, error)
}

const sampling = "the command of --sample is answering"

// Limits of the waiting questions of one server. Further questions are refused.
const (
	maxQuestions     = 32
	maxQuestionBytes = 8 << 20 // of the params of all
)

func newQuestions(c *changes.Changes) *questions {
	return &questions{changes: c, roots: map[string]json.RawMessage{}, asking: map[string]bool{}}
}

// callKey is the key of the number of a call in its context.
type callKey struct{}

var errTooManyQuestions = errors.New("too many or too large questions wait for an answer")

// errRefused is the answer to a server if the user refuses to answer its question (2025-11-25,
// Sampling, "Error Handling").
var errRefused = &rpc.Error{Code: -1, Message: "the user has refused the request"}

// ask waits until the user has answered an input request, or ctx ends.
func ask[R any](ctx context.Context, q *questions, server, method string, params any) (*R, error) {
	text, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	return answered[R](q.ask(ctx, &question{Server: server, Method: method, Params: text}))
}

func answered[R any](answer json.RawMessage, err error) (*R, error) {
	if err != nil {
		return nil, err
	}
	result := new(R)
	return result, mcp.Unmarshal(answer, result)
}

// sample waits until the user or the sampler has answered a sampling request, or ctx ends. If the
// sampler fails, only the user can answer.
func (q *questions) sample(ctx context.Context, server string, p mcp.CreateMessageParams) (
	*mcp.CreateMessageResult, error) {
	if q.sampler == nil {
		return ask[mcp.CreateMessageResult](ctx, q, server, mcp.MethodCreateMessage, p)
	}
	params, err := mcp.Marshal(p)
	if err != nil {
		return nil, err
	}
	return answered[mcp.CreateMessageResult](q.ask(ctx, &question{Server: server,
		Method: mcp.MethodCreateMessage, Params: params, Command: sampling,
		sample: func(ctx context.Context) (json.RawMessage, error) {
			result, err := q.sampler(ctx, p)
			if err != nil {
				return nil, err
			}
			return mcp.Marshal(result)
		}}))
}

func (q *questions) ask(ctx context.Context, question *question) (json.RawMessage, error) {
	call, ok := ctx.Value(callKey{}).(int64)
	if !ok { // a legacy server does not say which call it asks for
		call = q.callOn(question.Server)
	}
	question.Call = call
	if question.Method == mcp.MethodListRoots && q.rootsOf != nil {
		question.roots = q.rootsOf(question.Server)
	}
	question.Since, question.answer = time.Now().UnixMilli(), make(chan json.RawMessage, 1)
	known, err := q.add(question)
	if err != nil || known != nil {
		return known, err
	}
	q.changes.Add(changes.Questions)
	defer q.remove(question)
	if question.sample != nil {
		ended := make(chan struct{})
		samplerContext, cancel := context.WithCancel(ctx)
		defer func() {
			cancel()
			<-ended
		}()
		go func() {
			defer close(ended)
			q.runSampler(samplerContext, question)
		}()
	}
	select {
	case answer := <-question.answer:
		if answer == nil {
			return nil, errRefused
		}
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// runSampler answers a question with the sampler's answer, or records why the sampler failed.
func (q *questions) runSampler(ctx context.Context, question *question) {
	answer, err := question.sample(ctx)
	switch {
	case err == nil:
		_ = q.respond(question.ID, answer, false) // an error says that the user was first
	case ctx.Err() == nil:
		q.mu.Lock()
		question.Command = err.Error()
		q.mu.Unlock()
		q.changes.Add(changes.Questions)
	}
}

// add adds a question, unless the answer is known.
func (q *questions) add(question *question) (known json.RawMessage, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if question.Method == mcp.MethodListRoots {
		if roots := q.knownRoots(question.Server, question.roots); roots != nil {
			return roots, nil
		}
	}
	n, size := 0, len(question.Params)
	for _, other := range q.waiting {
		if other.Server == question.Server {
			n++
			size += len(other.Params)
		}
	}
	if n >= maxQuestions || size > maxQuestionBytes {
		return nil, errTooManyQuestions
	}
	q.last++
	question.ID = q.last
	q.waiting = append(q.waiting, question)
	return nil, nil
}

// knownRoots returns the answer to a request for roots, or nil if the user is asked. Unless the
// user has decided, the answer is uris. mu must be held.
func (q *questions) knownRoots(server string, uris []string) json.RawMessage {
	if roots := q.roots[server]; roots != nil || q.asking[server] || uris == nil {
		return roots
	}
	result := mcp.ListRootsResult{Roots: []mcp.Root{}}
	for _, uri := range uris {
		result.Roots = append(result.Roots, mcp.Root{URI: uri})
	}
	text, err := mcp.Marshal(result)
	if err != nil {
		return nil
	}
	q.roots[server] = text
	q.changes.Add(changes.Servers)
	return text
}

// rootsFor returns the URIs with which all requests of a server for roots are answered; nil if it
// has sent none and the user has set none, or if the user is asked.
func (q *questions) rootsFor(server string) []string {
	q.mu.Lock()
	text := q.roots[server]
	q.mu.Unlock()
	var result mcp.ListRootsResult
	if text == nil || mcp.Unmarshal(text, &result) != nil {
		return nil
	}
	uris := []string{}
	for _, root := range result.Roots {
		uris = append(uris, root.URI)
	}
	return uris
}

// forget removes what the user has decided about the roots of a server.
func (q *questions) forget(server string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.roots, server)
	delete(q.asking, server)
}

func (q *questions) remove(done *question) {
	q.mu.Lock()
	q.waiting = slices.DeleteFunc(q.waiting, func(other *question) bool { return other == done })
	q.mu.Unlock()
	q.changes.Add(changes.Questions)
}

// list returns the questions that wait, the oldest first.
func (q *questions) list() []question {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := []question{}
	for _, question := range q.waiting {
		all = append(all, *question) // a copy, because Command may change
	}
	return all
}

// respond answers a question. A result that is nil or null refuses to answer. If always is set, the
// result also answers all later requests of the server for its roots.
func (q *questions) respond(id int64, result json.RawMessage, always bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.waiting, func(question *question) bool { return question.ID == id })
	if i < 0 {
		return reply.NotFound("question", id)
	}
	question := q.waiting[i]
	if string(result) == "null" {
		result = nil
	}
	if always && question.Method == mcp.MethodListRoots {
		q.roots[question.Server] = result
		q.changes.Add(changes.Servers)
	}
	select {
	case question.answer <- result:
	default: // it is answered already
	}
	return nil
}

// setRoots sets the answer to all requests of a server for roots. If it is nil, the user is asked.
func (q *questions) setRoots(server string, roots json.RawMessage) {
	if string(roots) == "null" {
		roots = nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asking[server] = roots == nil
	q.roots[server] = roots
	q.changes.Add(changes.Servers)
}
