package gateway

import (
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
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	// maxParked is how long a call of a legacy server goes on without its client, that has been asked something.
	maxParked = 10 * time.Minute
	// maxFlights is how many such calls there are at most.
	maxFlights = 10_000
)

// A flight is a call of a legacy server's tool. It goes on when the request of a modern client ends with a question, and the next request takes it up again.
type flight struct {
	g      *Gateway
	token  string
	owner  string // the principal whose call it is
	server string // and session, whose question it may be
	ctx    context.Context
	cancel context.CancelFunc

	asked chan mcp.InputRequests // what the server wants to know; a flight that nobody rides waits here
	done  chan struct{}
	raw   json.RawMessage // when done
	err   error

	mu      sync.Mutex
	rider   context.Context // of the request that waits for it; for progress
	parked  *time.Timer     // ends it; nil while it is ridden
	waiting map[string]chan json.RawMessage
	keys    int
}

// flights are those that there are.
type flights struct {
	mu  sync.Mutex
	wg  sync.WaitGroup
	all map[string]*flight
}

// wait waits until all have ended, when no more can begin.
func (fs *flights) wait() {
	fs.mu.Lock()
	fs.mu.Unlock() // who has begun one has counted it
	fs.wg.Wait()
}

// resume returns the flight of a principal with that token, nil if there is none.
func (fs *flights) resume(token, principal string) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.all[token]
	if f == nil || f.owner != principal {
		return nil
	}
	return f
}

// only returns the flight of a server, nil if there is none or are several.
func (fs *flights) only(server string) (f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, other := range fs.all {
		if other.server != server || other.ctx.Err() != nil {
			continue // that of another, or given up
		}
		if f != nil {
			return nil
		}
		f = other
	}
	return f
}

var errTooMany = rpc.Errorf(rpc.CodeBusy, "too many calls wait for answers of their clients: try again later")

// takeOff calls a tool of a legacy server.
func (g *Gateway) takeOff(ctx context.Context, u upstream, arguments json.RawMessage) *flight {
	f := &flight{g: g, token: rand.Text(), owner: server.PrincipalFrom(ctx), asked: make(chan mcp.InputRequests), done: make(chan struct{}),
		waiting: make(map[string]chan json.RawMessage)}
	f.server = u.address()
	f.ctx, f.cancel = context.WithCancel(g.ctx)
	f.rider = ctx
	arguments = append(json.RawMessage(nil), arguments...)
	meta := callOptions(ctx)[1:]
	fs := &g.flights
	fs.mu.Lock()
	defer fs.mu.Unlock()
	switch {
	case g.ctx.Err() != nil:
		f.err = host.ErrClosed
	case len(fs.all) >= maxFlights:
		f.err = errTooMany
	}
	if f.err != nil {
		f.cancel()
		close(f.done)
		return f
	}
	if fs.all == nil {
		fs.all = make(map[string]*flight)
	}
	fs.all[f.token] = f
	fs.wg.Go(func() {
		defer f.land()
		opts := append(meta, client.OnProgress(f.progress))
		f.err = g.manager.Use(f.ctx, u.id, u.session, u.idempotent, func(c *client.Client) (err error) {
			f.raw, err = c.CallToolRaw(f.ctx, u.name, arguments, opts...)
			return err
		})
	})
	return f
}

// land ends a flight.
func (f *flight) land() {
	fs := &f.g.flights
	fs.mu.Lock()
	delete(fs.all, f.token)
	fs.mu.Unlock()
	close(f.done)
	f.cancel()
}

func (f *flight) progress(p mcp.ProgressParams) {
	f.mu.Lock()
	rider := f.rider
	f.mu.Unlock()
	if rider == nil {
		return
	}
	total := 0.0
	if p.Total != nil {
		total = *p.Total
	}
	server.Progress(rider, p.Progress, total, p.Message)
}

// ride waits for the result, or for a question, with which the client's request ends for now. A client that gives the request up gives up the call.
func (f *flight) ride(ctx context.Context, answers mcp.InputResponses) (json.RawMessage, error) {
	f.board(ctx, answers)
	for {
		select {
		case <-f.done:
			return f.raw, told(f.err)
		case questions := <-f.asked:
			err := require(ctx, questions, stateOfFlight+f.token)
			_, refused := errors.AsType[*rpc.Error](err)
			switch {
			case ctx.Err() != nil || errors.Is(err, rpc.ErrClosed): // a legacy client has given up, or is gone, before it answered
				f.cancel()
				return nil, err
			case refused:
				f.refuse(questions)
			default:
				f.park()
				return nil, err
			}
		case <-ctx.Done():
			f.cancel()
			return nil, context.Cause(ctx)
		}
	}
}

// board makes a request the one that waits, and passes on what it has answered.
func (f *flight) board(ctx context.Context, answers mcp.InputResponses) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rider = ctx
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
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rider = nil
	f.parked = time.AfterFunc(maxParked, f.cancel)
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
	select {
	case f.asked <- mcp.InputRequests{key: {Method: method, Params: encoded}}:
	case <-f.done: // the server asks for a call that was given up
		return nil, errCannotAsk
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
		return nil, errCannotAsk
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
	f := g.flights.only(from)
	if f == nil {
		g.o.Logger.Warn("gateway: a question cannot be passed on: the server does not say which of the calls it belongs to", slog.String("server", id), slog.String("method", method))
		return nil, errCannotAsk
	}
	raw, err := f.ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result := new(R)
	return result, mcp.Unmarshal(raw, result)
}
