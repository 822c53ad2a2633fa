package client

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxRounds = 10 // of input requests in one call
	maxAsking = 16 // input requests of one call that are answered concurrently
)

// callWithInput makes a call, and repeats it with input responses while the server requests input.
func (c *Client) callWithInput(ctx context.Context, r *call) error {
	if r.waitedTask != nil {
		return c.waitTask(ctx, r, r.waitedTask)
	}
	var t *urlElicitationRetry // nil until a URL elicitation is required
	for round := 0; ; round++ {
		err := c.followTask(ctx, r, c.send(ctx, r))
		if pages := c.requiredElicitations(r, err); pages != nil {
			if t == nil {
				t = &urlElicitationRetry{seen: make(map[string]bool)}
			}
			if err = c.completeElicitations(ctx, r, t, pages, err); err != nil {
				return err
			}
			continue
		}
		asked, _ := err.(*InputRequiredError)
		switch {
		case asked == nil || asked.Task != nil || r.returnInput || !c.requestsInput(r.method) ||
			!c.canAnswer(asked.Result.InputRequests):
			return err
		case round == maxRounds:
			return &RoundsError{Rounds: round, Last: asked}
		}
		answers, err := c.collectInput(ctx, r, asked.Result.InputRequests)
		if err != nil {
			return err
		}
		r.answers = mcp.InputAnswers{InputResponses: answers}
		if r.requestState = jsonscan.Member(asked.Raw,
			"requestState"); string(r.requestState) == "null" {
			// some servers encode an absent state as null
			r.requestState = nil
		}
	}
}

// requestsInput reports whether the server may respond to a method with input requests.
func (c *Client) requestsInput(method string) bool {
	m, _ := mcp.MethodAt(method, c.session.Load().revision)
	return m.RequestsInput
}

// canAnswer reports whether each input request has a handler. There may be none: then the server
// only wants the request to be repeated.
func (c *Client) canAnswer(questions mcp.InputRequests) bool {
	for _, q := range questions {
		if c.inputHandlers[q.Method] == nil {
			return false
		}
	}
	return true
}

// collectInput answers input requests concurrently and returns when all handlers have returned. The
// first failure cancels the others, as do the call's timeout, ctx and the end of the connection.
func (c *Client) collectInput(ctx context.Context, r *call,
	questions mcp.InputRequests) (mcp.InputResponses, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !r.expires.IsZero() {
		limited, stop := context.WithDeadlineCause(asking, r.expires, errExpired)
		defer stop()
		asking = limited
	}
	var watching, open sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.closing:
			cancel(rpc.ErrClosed)
		case <-c.peer.Closed():
			cancel(rpc.ErrClosed)
		case <-asking.Done():
		}
	})
	var mu sync.Mutex
	var failure *QuestionError // the first
	answers := make(mcp.InputResponses, len(questions))
	places := make(chan struct{}, maxAsking)
	for key, q := range questions {
		select {
		case places <- struct{}{}:
		case <-asking.Done():
		}
		if asking.Err() != nil {
			break
		}
		open.Go(func() {
			defer func() { <-places }()
			answer, err := c.inputHandlers[q.Method](asking, q.Params)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				answers[key] = answer
			} else if asking.Err() == nil {
				failure = &QuestionError{Key: key, Method: q.Method, Err: err}
				cancel(failure)
			}
		})
	}
	open.Wait()
	cause := context.Cause(asking)
	cancel(nil)
	watching.Wait()
	switch {
	case failure != nil:
		return nil, failure
	case ctx.Err() != nil:
		return nil, c.abortError(ctx.Err(), r)
	case cause == errExpired:
		e := c.abortError(context.DeadlineExceeded, r).(*TimeoutError)
		e.Waiting = "the server's questions"
		return nil, e
	case cause != nil:
		return nil, c.connectionError(rpc.ErrClosed)
	case len(answers) < len(questions):
		return nil, errCallbackGoexit
	}
	return answers, nil
}
