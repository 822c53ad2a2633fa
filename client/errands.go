package client

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxURLElicitations      = 1024 // that are remembered; also, that wait for OnElicitComplete
	maxElicitationID     = 1024 // bytes
	maxRequiredElicitations = 64   // in one refusal
	// firstTry is when a request is made again although nobody has said that the user is done. Servers need not say so, and the user needs his time. Each try
	// after that takes twice as long to come.
	firstRetryDelay = 15 * time.Second
)

// errands is what the server has sent the user to do on web pages, and what it has said is done (2025-11-25, Elicitation, "Completion Notifications for URL Mode
// Elicitation"). What is said of an errand before we know of it counts, as it may overtake the request.
type urlElicitations struct {
	ready chan struct{} // capacity 1: there is something to tell; nil if the application does not want to know

	mu    sync.Mutex
	all   map[[sha256.Size]byte]*urlElicitation // by id
	order [][sha256.Size]byte           // the oldest first
	completions  []string                      // to be told
}

type urlElicitation struct {
	requested bool          // the user was to be sent on it
	completed  bool          // the server says so
	done  chan struct{} // closed then
}

// find returns the errand with that id. With mu.
func (s *urlElicitations) find(id string) *urlElicitation {
	key := sha256.Sum256([]byte(id))
	e := s.all[key]
	if e == nil {
		if len(s.order) == maxURLElicitations {
			delete(s.all, s.order[0])
			s.order = s.order[1:]
		}
		e = &urlElicitation{done: make(chan struct{})}
		s.all[key], s.order = e, append(s.order, key)
	}
	return e
}

// put takes the params of notifications/elicitation/complete, on the reader's goroutine.
func (s *urlElicitations) put(params []byte) {
	id, ok := jsonscan.Text(jsonscan.Member(params, "elicitationId"))
	if !ok || len(id) > maxElicitationID {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(id)
	if e.completed {
		return
	}
	e.completed = true
	close(e.done)
	if e.requested {
		s.queueCompletion(id)
	}
}

// tell has the application told, if it wants to know. With mu.
func (s *urlElicitations) queueCompletion(id string) {
	if s.ready == nil || len(s.completions) == maxURLElicitations {
		return
	}
	s.completions = append(s.completions, id)
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// begin takes note that the user is to be sent on an errand.
func (s *urlElicitations) markRequested(id string) {
	if len(id) > maxElicitationID {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(id)
	if !e.requested && e.completed {
		s.queueCompletion(id)
	}
	e.requested = true
}

// expect returns what is closed when the errand is done. One that was done before has to be done again.
func (s *urlElicitations) awaitCompletion(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(id)
	if e.requested && e.completed {
		*e = urlElicitation{done: make(chan struct{})}
	}
	return e.done
}

func (s *urlElicitations) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.completions
	s.completions = nil
	return news
}

// deliverErrands tells the application what the user has done, until the connection ends.
func (c *Client) deliverElicitCompletions() {
	for {
		select {
		case <-c.urlElicitations.ready:
		case <-c.ctx.Done():
			return
		}
		for _, id := range c.urlElicitations.take() {
			if c.ctx.Err() != nil {
				return
			}
			c.runCallback("OnElicitComplete", func() { c.o.OnElicitComplete(id) })
		}
	}
}

// A trip is all the errands of one call.
type urlElicitationRetry struct {
	seen   map[string]bool   // ids of those that the user has accepted
	pending   []<-chan struct{} // those that are not done, as far as is known
	rounds int               // how many times the user was asked
	wait   time.Duration     // until the request is made again all the same
}

// errandsIn returns the questions whether the user goes on the errands that a request was refused for (2025-11-25, Elicitation, "URL Elicitation Required
// Error"); nil if there are none, or nobody can be asked.
func (c *Client) requiredElicitations(r *call, err error) mcp.InputRequests {
	refusal, _ := err.(*rpc.Error)
	if refusal == nil || refusal.Code != mcp.CodeURLElicitationRequired || r.byHand || !c.canElicitURL() {
		return nil
	}
	var data mcp.URLElicitationRequiredData
	if mcp.Unmarshal(refusal.Data, &data) != nil || len(data.Elicitations) > maxRequiredElicitations {
		return nil
	}
	pages := make(mcp.InputRequests)
	for _, page := range data.Elicitations {
		q, err := mcp.NewInputRequest(mcp.MethodElicit, page)
		if err != nil || page.Mode != mcp.ElicitURL || page.ElicitationID == "" || len(page.ElicitationID) > maxElicitationID {
			return nil
		}
		pages[page.ElicitationID] = q
	}
	if len(pages) == 0 {
		return nil
	}
	return pages
}

// sendsOnErrands reports whether the application sends the user to web pages, and the server says when he is done there.
func (c *Client) canElicitURL() bool {
	return c.session.Load().features.ElicitationComplete && c.inputHandlers[mcp.MethodElicit] != nil && c.o.elicits(mcp.ElicitURL)
}

// errand asks the user to go on the errands that a request was refused for, and waits for them. nil means that the request is to be made again: because all is
// done, or to see whether it is. The refusal is what is returned if the user does not want to, or has done it in vain.
func (c *Client) completeElicitations(ctx context.Context, r *call, t *urlElicitationRetry, pages mcp.InputRequests, refusal error) error {
	if len(t.pending) == 0 {
		fresh := make(mcp.InputRequests)
		for id, page := range pages {
			if !t.seen[id] {
				fresh[id] = page
				t.pending = append(t.pending, c.urlElicitations.awaitCompletion(id))
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
	} // else the user is on the way, and what the server says now it has said before
	for until := time.Now().Add(t.wait); len(t.pending) > 0; {
		if _, reason := c.waitCall(ctx, r, t.pending[0], max(0, time.Until(until))); reason != nil {
			if timeout, ok := reason.(*TimeoutError); ok {
				timeout.Waiting = "what the user was to do on a web page"
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
