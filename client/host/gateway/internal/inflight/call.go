package inflight

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/toolresult"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	// maxSuspended is how long a call of a legacy server continues after its client was asked a
	// question.
	maxSuspended = 10 * time.Minute
	// RootsWait is how long a server waits for clients that do not return their roots.
	RootsWait = 5 * time.Second
	// maxInflight limits the in-flight calls. Each principal has a share of it.
	maxInflight = 10_000
)

// A Call is a tools/call, prompts/get or resources/read request to a legacy server for a client
// that can be asked questions. It outlives a modern client's request that ends with a question; the
// client's next request, with the answer, resumes it.
type Call struct {
	Server    string // its ID
	Owner     string // identifies the client that may resume the call
	Principal string // of the first request

	// Request is the first request of the call.
	Request *Request
	// Client, if set, is the context of the client's connection.
	Client context.Context
	// State returns the requestState of a question.
	State func(token string) string
	// Make sends the call and waits for its result. Convert converts its error for the client.
	Make    func(ctx context.Context) (json.RawMessage, error)
	Convert func(error) error
	// End is called when the call has ended. wanted is what Request.End reports.
	End func(wanted bool)
	// Report sends progress to the client of a request.
	Report func(request context.Context, p mcp.ProgressParams)

	calls  *Calls
	token  string
	ctx    context.Context
	cancel context.CancelFunc
	stop   func() bool // stops waiting for the end of the client's connection

	// questions has no buffer, so that a question waits while the call is suspended.
	questions chan mcp.InputRequests
	done      chan struct{}
	result    json.RawMessage // set before done is closed
	err       error           // set before done is closed

	mu sync.Mutex
	// request is the context of the request that waits for the result; nil while suspended.
	request context.Context
	expiry  *time.Timer                     // ends a suspended call; nil while a request waits
	answers map[string]chan json.RawMessage // by the key of the question; capacity 1
	keys    int                             // number of keys so far
}

// Calls are all in-flight calls by token. They are safe for concurrent use.
type Calls struct {
	ctx      context.Context
	requests *Requests
	quota    *quota.Pool // by principal
	wg       sync.WaitGroup

	mu  sync.Mutex
	all map[string]*Call
}

// NewCalls returns an empty table of calls. Their requests are among these, and they end with ctx.
func NewCalls(ctx context.Context, requests *Requests) *Calls {
	return &Calls{ctx: ctx, requests: requests, quota: quota.NewPool(maxInflight),
		all: make(map[string]*Call)}
}

// Wait blocks until all calls have ended. No call may start after it is called.
func (calls *Calls) Wait() {
	calls.mu.Lock()
	calls.mu.Unlock() // a started call has been added to wg before mu was unlocked
	calls.wg.Wait()
}

// Resume returns the call with this token if it belongs to owner, and nil otherwise.
func (calls *Calls) Resume(token, owner string) *Call {
	calls.mu.Lock()
	defer calls.mu.Unlock()
	f := calls.all[token]
	if f == nil || f.Owner != owner {
		return nil
	}
	return f
}

var errTooManyCalls = rpc.Errorf(rpc.CodeBusy,
	"too many calls are waiting for answers of their clients: try again later")

// Start starts a call for the request with this context. If it cannot, the call has ended.
func (calls *Calls) Start(ctx context.Context, f *Call) {
	f.calls, f.token = calls, rand.Text()
	f.questions, f.done = make(chan mcp.InputRequests), make(chan struct{})
	f.answers = make(map[string]chan json.RawMessage)
	f.ctx, f.cancel = context.WithCancel(calls.ctx)
	f.request = ctx
	calls.mu.Lock()
	defer calls.mu.Unlock()
	switch {
	case calls.ctx.Err() != nil:
		f.err = host.ErrClosed
	case calls.quota.Take(f.Principal, 1) != nil:
		f.err = errTooManyCalls
	}
	if f.err != nil {
		f.cancel()
		f.End(false)
		close(f.done)
		return
	}
	calls.all[f.token] = f
	f.Request.Call = f
	calls.requests.Begin(ctx, f.Request)
	f.stop = func() bool { return false }
	if f.Client != nil {
		f.stop = context.AfterFunc(f.Client, f.expire)
	}
	calls.wg.Go(func() {
		defer f.finish()
		defer func() { f.End(f.Request.End()) }()
		f.result, f.err = f.Make(f.ctx)
	})
}

// finish marks the call as done. A suspended call keeps its result until its client returns or it
// expires.
func (f *Call) finish() {
	close(f.done)
	f.cancel()
}

// expire cancels a call that no request can resume any more.
func (f *Call) expire() {
	calls := f.calls
	calls.mu.Lock()
	if calls.all[f.token] == f {
		delete(calls.all, f.token)
		calls.quota.Give(f.Principal, 1)
		f.stop()
	}
	calls.mu.Unlock()
	f.cancel()
	calls.requests.mu.Lock()
	calls.requests.notifyEnded()
	calls.requests.mu.Unlock()
}

// isAbandoned reports whether the call or the request that waits for it was cancelled.
func (f *Call) isAbandoned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ctx.Err() != nil || f.request != nil && f.request.Err() != nil
}

// Progress passes progress on to the client if its request waits.
func (f *Call) Progress(p mcp.ProgressParams) {
	f.mu.Lock()
	request := f.request
	f.mu.Unlock()
	if request != nil {
		f.Report(request, p)
	}
}

// Wait blocks until the call has a result or the server asks a question, which ends the client's
// request. If the client cancels the request, the call is cancelled.
func (f *Call) Wait(ctx context.Context) (result json.RawMessage, err error) {
	answers, _ := server.Inputs(ctx)
	f.attach(ctx, answers)
	defer f.Request.Logs.Stop()
	var unavailable *UnavailableError // set after a question that nobody can answer
	for {
		select {
		case <-f.done:
			f.expire()
			if unavailable != nil && (f.err != nil || toolresult.Parse(f.result).Failed) {
				unavailable.Result = appuri.InMessage(f.Server, f.result)
				return nil, unavailable
			}
			return f.result, f.Convert(f.err)
		case questions := <-f.questions:
			err := f.requireInput(ctx, questions)
			if u, ok := errors.AsType[*UnavailableError](err); ok {
				unavailable = u
			}
			_, asked := errors.AsType[*QuestionError](err)
			switch {
			case ctx.Err() != nil || errors.Is(err, rpc.ErrClosed):
				// The client has cancelled its request or disconnected.
				f.expire()
				f.detach()
				return nil, err
			case asked:
				f.suspend()
				return nil, err
			default:
				f.refuse(questions)
			}
		case <-ctx.Done():
			f.expire()
			f.detach()
			<-f.done // the server has been notified, even if the gateway is closed next
			return nil, context.Cause(ctx)
		}
	}
}

// requireInput returns the *QuestionError that ends the request, or another error if the client
// cannot be asked or does not answer in time.
func (f *Call) requireInput(ctx context.Context, questions mcp.InputRequests) error {
	timeout := maxSuspended
	for _, q := range questions {
		switch {
		case q.Method != mcp.MethodListRoots:
		case server.CapabilitiesFrom(ctx).Roots == nil:
			return ErrCannotAsk
		default:
			// No person has to answer, and the call may not need the roots.
			timeout = RootsWait
		}
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return RequireInput(limited, questions, f.State(f.token))
}

// detach leaves the call without a waiting request.
func (f *Call) detach() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.request = nil
}

// attach makes ctx the waiting request and passes its answers to the server.
func (f *Call) attach(ctx context.Context, answers mcp.InputResponses) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.request = ctx
	f.Request.Logs.Start(ctx)
	if f.expiry != nil {
		f.expiry.Stop()
		f.expiry = nil
	}
	for key, answer := range answers {
		if to := f.answers[key]; to != nil {
			to <- append(json.RawMessage(nil), answer...) // does not block: capacity 1
			delete(f.answers, key)
		}
	}
}

// suspend leaves the call without a waiting request for at most maxSuspended.
func (f *Call) suspend() {
	f.detach()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expiry = time.AfterFunc(maxSuspended, f.expire)
}

// refuse answers the server's questions with ErrCannotAsk.
func (f *Call) refuse(questions mcp.InputRequests) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range questions {
		if to := f.answers[key]; to != nil {
			close(to)
			delete(f.answers, key)
		}
	}
}
