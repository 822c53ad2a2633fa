package client

import (
	"context"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/internal/urlelicitation"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxRounds = 10 // of input requests in one call

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
		case round >= maxRounds:
			return &roundsError{round, asked}
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
		return nil, c.connectionError(ctx, rpc.ErrClosed)
	case len(answers) < len(questions):
		return nil, errCallbackGoexit
	}
	return answers, nil
}

const (
	maxRequiredElicitations = 64 // in one refusal
	// firstRetryDelay is the delay before a request is retried without a completion notification.
	// Servers need not send one, and the user needs time. Each further delay is twice as long.
	firstRetryDelay = 15 * time.Second
)

// deliverElicitCompletions calls OnElicitComplete for what is complete, unless the connection has
// ended.
func (c *Client) deliverElicitCompletions() {
	for _, id := range c.urlElicitations.Take() {
		if c.ctx.Err() != nil {
			return
		}
		c.runCallback("OnElicitComplete", func() { c.o.OnElicitComplete(id) })
	}
}

// A urlElicitationRetry is the state of a call that the server rejects until URL elicitations are
// complete.
type urlElicitationRetry struct {
	seen    map[string]bool   // ids of those that the user accepted
	pending []<-chan struct{} // of those not known to be complete
	rounds  int               // how many times the user was asked
	wait    time.Duration     // until the request is retried without a notification
}

// requiredElicitations returns the elicitations in an error -32042 (2025-11-25, Elicitation, "URL
// Elicitation Required Error"); nil if err is another error or there is no callback for them.
func (c *Client) requiredElicitations(r *call, err error) mcp.InputRequests {
	refusal, _ := err.(*rpc.Error)
	if refusal == nil || refusal.Code != mcp.CodeURLElicitationRequired || r.returnInput ||
		!c.canElicitURL() {
		return nil
	}
	var data mcp.URLElicitationRequiredData
	if mcp.Unmarshal(refusal.Data, &data) != nil ||
		len(data.Elicitations) > maxRequiredElicitations {
		return nil
	}
	pages := make(mcp.InputRequests)
	for _, page := range data.Elicitations {
		q, err := mcp.NewInputRequest(mcp.MethodElicit, page)
		if err != nil || page.Mode != mcp.ElicitURL || page.ElicitationID == "" ||
			len(page.ElicitationID) > urlelicitation.MaxID {
			return nil
		}
		pages[page.ElicitationID] = q
	}
	if len(pages) == 0 {
		return nil
	}
	return pages
}

// canElicitURL reports whether OnElicit supports URLs and the revision has completion
// notifications.
func (c *Client) canElicitURL() bool {
	return c.session.Load().features.ElicitationComplete &&
		c.inputHandlers[mcp.MethodElicit] != nil && c.o.elicits(mcp.ElicitURL)
}

// completeElicitations asks the user to visit the pages of an error -32042 and waits for
// completion. It returns nil when the request should be retried, and refusal if the user declines
// or visited the pages without effect. Further pages are shown only when those before are complete.
func (c *Client) completeElicitations(ctx context.Context, r *call, t *urlElicitationRetry,
	pages mcp.InputRequests, refusal error) error {
	if len(t.pending) == 0 {
		fresh := make(mcp.InputRequests)
		for id, page := range pages {
			if !t.seen[id] {
				fresh[id] = page
				t.pending = append(t.pending, c.urlElicitations.AwaitCompletion(id))
			}
		}
		if t.rounds++; len(fresh) == 0 || t.rounds > maxRounds {
			return refusal
		}
		answers, err := c.collectInput(ctx, r, fresh)
		if err != nil {
			return err
		}
		for id, raw := range answers {
			var answer mcp.ElicitResult
			if mcp.Unmarshal(raw, &answer) != nil || answer.Action != mcp.ElicitAccept {
				return refusal
			}
			t.seen[id] = true
		}
		t.wait = firstRetryDelay
	} // otherwise the user was asked before, and the server repeats itself
	for until := time.Now().Add(t.wait); len(t.pending) > 0; {
		if _, reason := c.waitCall(ctx, r, t.pending[0], max(0, time.Until(until))); reason != nil {
			if timeout, ok := reason.(*TimeoutError); ok {
				timeout.Waiting = "the URL elicitation"
			}
			return reason
		}
		select {
		case <-t.pending[0]:
			t.pending = t.pending[1:]
		default:
			t.wait *= 2
			return nil
		}
	}
	return nil
}
