package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
)

const (
	defaultRetry = time.Second // before a stream is opened again, unless the server says how long; doubled each time that it cannot be
	maxRetry     = time.Minute // and no more than this, whatever the server says
	maxResumes   = 5           // attempts in a row to go on with an answer, without a server that can be reached
)

// next returns the next message of a stream, in memory of its own. What a legacy server sends to give the stream an id is none.
func next(reader *sse.Reader) ([]byte, error) {
	for {
		e, err := reader.Next()
		if err != nil {
			return nil, err
		}
		if e.Type == sse.DefaultType && len(e.Data) > 0 {
			return bytes.Clone(e.Data), nil
		}
	}
}

func (c *Conn) newReader(body io.Reader) *sse.Reader {
	return sse.NewReader(body, sse.Limits{MaxData: c.limits.MaxFrame})
}

// hearEvents takes an answer that is a stream. That of a legacy server may break off and be resumed (2025-11-25, Transports, "Resumability and Redelivery").
func (x *exchange) hearEvents(resp *http.Response, s *state) error {
	reader := x.c.newReader(resp.Body)
	defer func() { _ = resp.Body.Close() }() // of the latest
	for {
		garbled, err := x.events(reader, resp)
		switch {
		case x.answered:
			timer := time.AfterFunc(lingering, func() { x.cancel(context.Canceled) })
			drain(resp.Body)
			timer.Stop()
			return err
		case err != io.EOF && x.ctx.Err() != nil:
			return context.Cause(x.ctx)
		}
		if limit, ok := errors.AsType[*sse.LimitError](err); ok {
			return tooLarge(int64(limit.Limit)+1, int64(limit.Limit))
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		broken := cut(resp.Request, err)
		if x.modern || garbled || reader.LastEventID() == "" {
			return broken
		}
		_ = resp.Body.Close()
		again, err := x.resume(reader, s, broken)
		if err != nil {
			return err
		}
		resp = again
		reader.Reset(resp.Body)
	}
}

// events hands on what comes on a stream, up to the answer or to why it ends. What is no message is for the client to make something of; it may have been the answer.
func (x *exchange) events(reader *sse.Reader, resp *http.Response) (garbled bool, err error) {
	for {
		message, err := next(reader)
		if err != nil {
			return garbled, err
		}
		garbled = x.look(message, resp) != nil || garbled
		if err := x.c.deliver(x.ctx, message); err != nil || x.answered {
			return garbled, err
		}
	}
}

// resume opens the stream again on which the answer broke off.
func (x *exchange) resume(reader *sse.Reader, s *state, broken error) (*http.Response, error) {
	wait := defaultRetry
	for attempt := 0; ; attempt++ {
		if told, ok := reader.Retry(); ok {
			wait = max(wait, told)
			if attempt == 0 {
				wait = told
			}
		}
		if err := pause(x.ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
		resp, err := x.c.openStream(x.ctx, s, reader.LastEventID())
		switch refused, _ := errors.AsType[*StatusError](err); {
		case err == nil:
			return resp, nil
		case x.ctx.Err() != nil:
			return nil, context.Cause(x.ctx)
		case refused != nil && refused.Status == http.StatusNotFound && s.session != "":
			x.c.lose(s.session)
			return nil, fmt.Errorf("%w, and the server has forgotten the session", broken) // it may have done what the call says: no second try
		case attempt+1 == maxResumes || refused != nil && !refused.temporary():
			return nil, fmt.Errorf("%w, and cannot be resumed: %w", broken, err)
		}
	}
}

// temporary reports a refusal that may not be the last word.
func (e *StatusError) temporary() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// pause waits, for maxRetry at most. The error is that of ctx.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(min(wait, maxRetry))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openStream opens a stream with GET, from behind the event with that id if it is not "".
func (c *Conn) openStream(ctx context.Context, s *state, after string) (*http.Response, error) {
	req := c.request(ctx, http.MethodGet, nil, s)
	if after != "" {
		req.Header[lastEventID] = []string{after}
	}
	resp, err := c.do(req)
	if err != nil {
		return nil, err
	}
	kind := mediaType(resp)
	switch {
	case resp.StatusCode != http.StatusOK:
		err = statusError(resp)
	case kind != "text/event-stream":
		err = &answerError{fmt.Sprintf("GET %s: the Content-Type %.100q in place of text/event-stream", printURL(req.URL), kind), rpc.ErrProtocol}
	default:
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, err
}

const (
	// listenPatience is how long the first call waits for the stream of what the server says by itself: a question to the client could get lost.
	listenPatience = 300 * time.Millisecond
	// renewPatience is how long a new session may take to begin, when no call is waiting for it.
	renewPatience = time.Minute
)

// listen hears what a legacy server has to say by itself, until the Conn is closed or there is another session (2025-11-25, Transports, "Listening for Messages from
// the Server"). It returns when the server has said whether it offers that.
func (c *Conn) listen(s *state) {
	if s.endpoint != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	if c.state.stop != nil {
		c.state.stop()
	}
	c.state.stop = cancel
	c.mu.Unlock()
	said := make(chan struct{})
	if !c.begin(func() { defer cancel(); c.keepListening(ctx, s, said) }) {
		cancel()
		return
	}
	timer := time.NewTimer(listenPatience)
	defer timer.Stop()
	select {
	case <-said:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (c *Conn) keepListening(ctx context.Context, s *state, said chan<- struct{}) {
	reader := c.newReader(nil)
	once := false
	for wait := defaultRetry; ; wait = min(2*wait, maxRetry) {
		resp, err := c.openStream(ctx, s, reader.LastEventID())
		if said != nil {
			close(said)
			said = nil
		}
		refused, _ := errors.AsType[*StatusError](err)
		switch {
		case ctx.Err() != nil:
			if resp != nil {
				_ = resp.Body.Close()
			}
			return
		case err == nil:
			if once && reader.LastEventID() == "" {
				c.link.Missed()
			}
			once, wait = true, defaultRetry/2
			reader.Reset(resp.Body)
			c.hearStream(ctx, reader)
			_ = resp.Body.Close()
		case once && refused != nil && refused.Status == http.StatusNotFound && s.session != "":
			c.lose(s.session)
			c.renew()
			return
		case errors.Is(err, rpc.ErrProtocol) || refused != nil && !refused.temporary():
			return // it does not offer that
		}
		told, _ := reader.Retry()
		if pause(ctx, max(wait, told)) != nil {
			return
		}
	}
}

// hearStream hands on what comes on a stream until that ends.
func (c *Conn) hearStream(ctx context.Context, reader *sse.Reader) {
	for {
		message, err := next(reader)
		if _, ok := errors.AsType[*sse.LimitError](err); ok {
			continue // an answer cannot be lost here
		}
		if err != nil || c.deliver(ctx, message) != nil {
			return
		}
	}
}

// renew has the client begin another session, so that what it wants to hear is heard again.
func (c *Conn) renew() {
	ctx, cancel := context.WithTimeout(c.ctx, renewPatience)
	defer cancel()
	if err := c.link.Renew(ctx); err != nil && c.ctx.Err() == nil && !errors.Is(err, client.ErrSessionLost) {
		c.link.Warn(err.Error())
	}
}
