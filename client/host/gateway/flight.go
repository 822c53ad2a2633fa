package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	// maxParked is how long a call of a legacy server goes on without its client, that has been asked something.
	maxParked = 10 * time.Minute
	// maxFlights is how many such calls there are at most. A principal has a share of them.
	maxFlights = 10_000
)

// A flight is a call of a legacy server: of a tool, or for a prompt or resource. It goes on when the request of a modern client ends with a question, and the next request takes it up again.
// The call of a client that cannot be asked anything is none: it walks.
type flight struct {
	g         *Gateway
	u         upstream
	token     string
	principal string // who made the call
	feed      *feed  // of log messages, to the rider
	ctx       context.Context
	cancel    context.CancelFunc
	stop      func() bool // waiting for the end of the client's connection

	asked  chan mcp.InputRequests // what the server wants to know; a flight that nobody rides waits here
	done   chan struct{}
	result any // when done
	err    error

	mu      sync.Mutex
	rider   context.Context // of the request that waits for it; for progress
	parked  *time.Timer     // ends it; nil while it is ridden
	waiting map[string]chan json.RawMessage
	keys    int
}

// flights are those that there are.
type flights struct {
	mu     sync.Mutex
	wg     sync.WaitGroup
	all    map[string]*flight
	places *quota.Pool // by principal
}

// wait waits until all have ended, when no more can begin.
func (fs *flights) wait() {
	fs.mu.Lock()
	fs.mu.Unlock() // who has begun one has counted it
	fs.wg.Wait()
}

// resume returns the flight of an owner with that token, nil if there is none.
func (fs *flights) resume(token, owner string) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.all[token]
	if f == nil || f.u.owner != owner {
		return nil
	}
	return f
}

// admit takes a place. With mu.
func (fs *flights) admit(principal string) error {
	if fs.all == nil {
		fs.all, fs.places = make(map[string]*flight), quota.NewPool(maxFlights)
	}
	return fs.places.Take(principal, 1)
}

var errTooMany = rpc.Errorf(rpc.CodeBusy, "too many calls wait for answers of their clients: try again later")

// takeOff has a legacy server do something.
func (g *Gateway) takeOff(ctx context.Context, c *call, do deed[any]) *flight {
	f := &flight{g: g, u: c.u, token: rand.Text(), principal: principal(ctx), asked: make(chan mcp.InputRequests), done: make(chan struct{}), waiting: make(map[string]chan json.RawMessage), feed: new(feed)}
	f.ctx, f.cancel = context.WithCancel(g.ctx)
	f.rider = ctx
	c.Arguments = bytes.Clone(c.Arguments) // which may outlive the request
	fs := &g.flights
	fs.mu.Lock()
	defer fs.mu.Unlock()
	switch {
	case g.ctx.Err() != nil:
		f.err = host.ErrClosed
	case fs.admit(f.principal) != nil:
		f.err = errTooMany
	}
	if f.err != nil {
		f.cancel()
		close(f.done)
		return f
	}
	fs.all[f.token] = f
	v := g.visit(ctx, &f.u, f, true)
	f.feed = &v.feed
	leave := g.enter(&f.u)
	f.stop = func() bool { return false }
	if f.u.conn != nil {
		f.stop = context.AfterFunc(f.u.conn.Context(), f.expire)
	}
	opts := append(carried(traceOf(ctx)), client.OnProgress(f.progress))
	fs.wg.Go(func() {
		defer f.land()
		defer leave()
		defer v.leave()
		f.err = g.manager.Use(f.ctx, f.u.id, f.u.session, f.u.idempotent, func(c *client.Client) (err error) {
			g.raise(f.ctx, c, f.feed)
			f.result, err = do(f.ctx, c, opts...)
			return err
		})
	})
	return f
}

// land ends the call. If its client has been asked something meanwhile, what has come of it waits.
func (f *flight) land() {
	close(f.done)
	f.cancel()
}

// expire ends a flight that nobody will ride any more.
func (f *flight) expire() {
	fs := &f.g.flights
	fs.mu.Lock()
	if fs.all[f.token] == f {
		delete(fs.all, f.token)
		fs.places.Give(f.principal, 1)
		f.stop()
	}
	fs.mu.Unlock()
	f.cancel()
	f.g.visits.mu.Lock()
	f.g.visits.tell()
	f.g.visits.mu.Unlock()
}

// isGivenUp reports whether nobody wants to know any more what comes of it.
func (f *flight) isGivenUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ctx.Err() != nil || f.rider != nil && f.rider.Err() != nil
}

func (f *flight) progress(p mcp.ProgressParams) {
	f.mu.Lock()
	rider := f.rider
	f.mu.Unlock()
	if rider != nil {
		report(rider, p)
	}
}

// ride waits for the result, or for a question, with which the client's request ends for now. A client that gives the request up gives up the call.
func (f *flight) ride(ctx context.Context) (result any, err error) {
	answers, _ := server.Inputs(ctx)
	f.board(ctx, answers)
	defer f.feed.stop()
	var nobody *unasked // if the server has asked, and there is nobody to be
	for {
		select {
		case <-f.done:
			f.expire()
			if raw, _ := f.result.(json.RawMessage); nobody != nil && (f.err != nil || readAnswer(raw).failed) {
				nobody.result = raw
				return nil, nobody
			}
			return f.result, told(f.err)
		case questions := <-f.asked:
			err := f.require(ctx, questions)
			if u, ok := errors.AsType[*unasked](err); ok {
				nobody = u
			}
			_, asked := errors.AsType[*question](err)
			switch {
			case ctx.Err() != nil || errors.Is(err, rpc.ErrClosed): // a legacy client has given up, or is gone, before it answered
				f.expire()
				f.leave()
				return nil, err
			case asked:
				f.park()
				return nil, err
			default:
				f.refuse(questions)
			}
		case <-ctx.Done():
			f.expire()
			f.leave()
			<-f.done // the server is told: who made the call may end the gateway next
			return nil, context.Cause(ctx)
		}
	}
}

// require returns the *question with which the request ends for now; another error if its client cannot be asked, or does not answer in time.
func (f *flight) require(ctx context.Context, questions mcp.InputRequests) error {
	patience := maxParked
	for _, q := range questions {
		switch {
		case q.Method != mcp.MethodListRoots:
		case server.CapabilitiesFrom(ctx).Roots == nil:
			return errCannotAsk
		default: // which is no question to a person, and perhaps none that this call needs an answer to
			patience = rootsPatience
		}
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return require(limited, questions, f.u.state(stateOfFlight, f.token))
}

// leave has the flight go on without a request that waits.
func (f *flight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rider = nil
}

// board makes a request the one that waits, and passes on what it has answered.
func (f *flight) board(ctx context.Context, answers mcp.InputResponses) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rider = ctx
	f.feed.start(ctx)
	if f.parked != nil {
		f.parked.Stop()
		f.parked = nil
	}
	for key, answer := range answers {
		if to := f.waiting[key]; to != nil {
			to <- append(json.RawMessage(nil), answer...) // has room for one
			delete(f.waiting, key)
		}
	}
}

// park has the call go on without a request that waits, for a while.
func (f *flight) park() {
	f.leave()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parked = time.AfterFunc(maxParked, f.expire)
}

// refuse tells the server that the client cannot be asked.
func (f *flight) refuse(questions mcp.InputRequests) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range questions {
		if to := f.waiting[key]; to != nil {
			close(to)
			delete(f.waiting, key)
		}
	}
}

// errCannotAsk tells a legacy server that nobody can be asked.
var errCannotAsk = rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: the client whose call this is cannot be asked that")

// errLanded tells it that it has asked too late.
var errLanded = rpc.Errorf(rpc.CodeInvalidRequest, "the call that this was asked for has ended")

// ask passes a question on to the client, and waits for its answer.
func (f *flight) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	answer := make(chan json.RawMessage, 1)
	f.mu.Lock()
	f.keys++
	key := "question" + strconv.Itoa(f.keys)
	f.waiting[key] = answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.waiting, key)
		f.mu.Unlock()
	}()
	select {
	case f.asked <- mcp.InputRequests{key: {Method: method, Params: encoded}}:
	case <-f.done:
		return nil, errLanded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case raw, ok := <-answer:
		if !ok {
			return nil, errCannotAsk
		}
		return raw, nil
	case <-f.done:
		return nil, errLanded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer has a client pass on what its server asks.
func (g *Gateway) answer(o *client.Options, id, session string) {
	from := (&upstream{id: id, session: session}).address()
	if o.OnElicit == nil {
		o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
		o.OnElicit = func(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return pass[mcp.ElicitResult](ctx, g, id, from, mcp.MethodElicit, params)
		}
	}
	if o.OnSample == nil {
		o.SampleTools = true
		o.OnSample = func(ctx context.Context, params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return pass[mcp.CreateMessageResult](ctx, g, id, from, mcp.MethodCreateMessage, params)
		}
	}
}

// pass passes a question of a legacy server on to the client whose call it belongs to.
func pass[R any](ctx context.Context, g *Gateway, id, from, method string, params any) (*R, error) {
	f, ok := g.visits.asking(ctx, from)
	if !ok {
		g.o.Logger.Warn("gateway: a question cannot be passed on: the server does not say which of the calls it belongs to", slog.String("server", id), slog.String("method", method))
	}
	if f == nil {
		return nil, errCannotAsk
	}
	raw, err := f.ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result := new(R)
	return result, mcp.Unmarshal(raw, result)
}
