package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
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
	// maxInflight limits the in-flight calls. Each principal has a share of it.
	maxInflight = 10_000
)

// An inflightCall is a tools/call, prompts/get or resources/read request to a legacy server for a
// client that can be asked questions. It outlives a modern client's request that ends with a
// question; the client's next request, with the answer, resumes it.
type inflightCall struct {
	g         *Gateway
	target    target
	token     string
	principal string         // the principal of the first request
	logs      *logging.Queue // log messages for the current request
	ctx       context.Context
	cancel    context.CancelFunc
	stop      func() bool // stops waiting for the end of the client's connection

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

// inflightCalls are all in-flight calls by token.
type inflightCalls struct {
	mu    sync.Mutex
	wg    sync.WaitGroup
	all   map[string]*inflightCall
	quota *quota.Pool // by principal
}

// wait blocks until all calls have ended. No call may start after it is called.
func (calls *inflightCalls) wait() {
	calls.mu.Lock()
	calls.mu.Unlock() // a started call has been added to wg before mu was unlocked
	calls.wg.Wait()
}

// resume returns the call with this token if it belongs to owner, and nil otherwise.
func (calls *inflightCalls) resume(token, owner string) *inflightCall {
	calls.mu.Lock()
	defer calls.mu.Unlock()
	f := calls.all[token]
	if f == nil || f.target.owner != owner {
		return nil
	}
	return f
}

// admit takes one call from the principal's share. The caller holds mu.
func (calls *inflightCalls) admit(principal string) error {
	if calls.all == nil {
		calls.all, calls.quota = make(map[string]*inflightCall), quota.NewPool(maxInflight)
	}
	return calls.quota.Take(principal, 1)
}

var errTooManyCalls = rpc.Errorf(rpc.CodeBusy,
	"too many calls are waiting for answers of their clients: try again later")

// startInflight starts a call of a legacy server.
func (g *Gateway) startInflight(ctx context.Context, c *call) *inflightCall {
	f := &inflightCall{g: g, target: c.target, token: rand.Text(), principal: principal(ctx),
		questions: make(chan mcp.InputRequests), done: make(chan struct{}),
		answers: make(map[string]chan json.RawMessage), logs: new(logging.Queue)}
	f.ctx, f.cancel = context.WithCancel(g.ctx)
	f.request = ctx
	c.arguments = bytes.Clone(c.arguments) // the call may outlive the request and its buffer
	calls := &g.inflight
	calls.mu.Lock()
	defer calls.mu.Unlock()
	switch {
	case g.ctx.Err() != nil:
		f.err = host.ErrClosed
	case calls.admit(f.principal) != nil:
		f.err = errTooManyCalls
	}
	if f.err != nil {
		f.cancel()
		close(f.done)
		return f
	}
	calls.all[f.token] = f
	r := g.beginRequest(ctx, &f.target, f, true)
	f.logs = r.logs
	leave := f.target.enterSession()
	f.stop = func() bool { return false }
	if f.target.conn != nil {
		f.stop = context.AfterFunc(f.target.conn.Context(), f.expire)
	}
	opts := append(metaOption(f.target.meta), client.OnProgress(f.progress))
	calls.wg.Go(func() {
		defer f.finish()
		defer leave()
		defer r.end()
		f.err = g.manager.Use(f.ctx, f.target.id, f.target.session, f.target.idempotent,
			func(to *client.Client) (err error) {
				g.raiseLevel(f.ctx, to, f.logs)
				f.result, err = c.send(f.ctx, to, opts)
				return err
			})
	})
	return f
}

// finish marks the call as done. A suspended call keeps its result until its client returns or it
// expires.
func (f *inflightCall) finish() {
	close(f.done)
	f.cancel()
}

// expire cancels a call that no request can resume any more.
func (f *inflightCall) expire() {
	calls := &f.g.inflight
	calls.mu.Lock()
	if calls.all[f.token] == f {
		delete(calls.all, f.token)
		calls.quota.Give(f.principal, 1)
		f.stop()
	}
	calls.mu.Unlock()
	f.cancel()
	f.g.requests.mu.Lock()
	f.g.requests.notifyEnded()
	f.g.requests.mu.Unlock()
}

// isAbandoned reports whether the call or the request that waits for it was cancelled.
func (f *inflightCall) isAbandoned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ctx.Err() != nil || f.request != nil && f.request.Err() != nil
}

func (f *inflightCall) progress(p mcp.ProgressParams) {
	f.mu.Lock()
	request := f.request
	f.mu.Unlock()
	if request != nil {
		report(request, p)
	}
}

// wait blocks until the call has a result or the server asks a question, which ends the client's
// request. If the client cancels the request, the call is cancelled.
func (f *inflightCall) wait(ctx context.Context) (result json.RawMessage, err error) {
	answers, _ := server.Inputs(ctx)
	f.attach(ctx, answers)
	defer f.logs.Stop()
	var unavailable *inputUnavailableError // set after a question that nobody can answer
	for {
		select {
		case <-f.done:
			f.expire()
			if unavailable != nil && (f.err != nil || toolresult.Parse(f.result).Failed) {
				unavailable.result = appuri.InMessage(f.target.id, f.result)
				return nil, unavailable
			}
			return f.result, clientError(f.err)
		case questions := <-f.questions:
			err := f.requireInput(ctx, questions)
			if u, ok := errors.AsType[*inputUnavailableError](err); ok {
				unavailable = u
			}
			_, asked := errors.AsType[*inputRequired](err)
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

// requireInput returns the *inputRequired that ends the request, or another error if the client
// cannot be asked or does not answer in time.
func (f *inflightCall) requireInput(ctx context.Context, questions mcp.InputRequests) error {
	timeout := maxSuspended
	for _, q := range questions {
		switch {
		case q.Method != mcp.MethodListRoots:
		case server.CapabilitiesFrom(ctx).Roots == nil:
			return errCannotAsk
		default:
			// No person has to answer, and the call may not need the roots.
			timeout = rootsWait
		}
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return requireInput(limited, questions, f.target.state(stateOfInflight, f.token))
}

// detach leaves the call without a waiting request.
func (f *inflightCall) detach() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.request = nil
}

// attach makes ctx the waiting request and passes its answers to the server.
func (f *inflightCall) attach(ctx context.Context, answers mcp.InputResponses) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.request = ctx
	f.logs.Start(ctx)
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
func (f *inflightCall) suspend() {
	f.detach()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expiry = time.AfterFunc(maxSuspended, f.expire)
}

// refuse answers the server's questions with errCannotAsk.
func (f *inflightCall) refuse(questions mcp.InputRequests) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range questions {
		if to := f.answers[key]; to != nil {
			close(to)
			delete(f.answers, key)
		}
	}
}
