package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
)

const (
	defaultRetry = time.Second            // before a stream is opened again, unless the server says how long; doubled each time that nothing comes of it
	minRetry     = 100 * time.Millisecond // even if the server says less, lest one that ends its streams at once keeps the client busy
	maxRetry     = time.Minute            // unless the server says more
	maxResumes   = 5                      // attempts in a row to go on with an answer, without a server that can be reached
)

// retryDelay is how long to wait before a stream is opened again, when nothing has come of it so many times in a row.
func retryDelay(reader *sse.Reader, failures int) time.Duration {
	told, ok := reader.Retry()
	if ok && failures == 0 {
		return max(told, minRetry)
	}
	return max(told, min(defaultRetry<<min(failures, 10), maxRetry))
}

// nextMessage returns the next message of a stream, in memory of its own. What a legacy server sends to give the stream an id is none.
func nextMessage(reader *sse.Reader) ([]byte, error) {
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

// readStream takes an answer that is a stream. That of a legacy server may break off and be resumed (2025-11-25, Transports, "Resumability and Redelivery").
func (x *postRequest) readStream(resp *http.Response, s *legacyState) error {
	reader := x.c.newReader(resp.Body)
	defer func() { _ = resp.Body.Close() }() // of the latest
	for {
		x.streaming.Store(true)
		garbled, err := x.deliverEvents(reader, s)
		x.streaming.Store(false)
		switch {
		case x.answered:
			drain(resp.Body, func() { x.cancel(context.Canceled) })
			return err
		case x.ctx.Err() != nil:
			return context.Cause(x.ctx)
		}
		if limit, ok := errors.AsType[*sse.LimitError](err); ok {
			return eventLimitError(limit) // it may have been the answer
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		broken := cutError(resp.Request, err)
		if x.modern || garbled || reader.LastEventID() == "" || x.cancelled.Load() {
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

// deliverEvents hands on what comes on a stream, up to the answer or to why it ends. What is no message is for the client to make something of; it may have been the answer.
func (x *postRequest) deliverEvents(reader *sse.Reader, s *legacyState) (garbled bool, err error) {
	for {
		message, err := nextMessage(reader)
		if err != nil {
			return garbled, err
		}
		garbled = x.inspect(message, s) != nil || garbled
		if err := x.c.deliver(x.ctx, message); err != nil || x.answered {
			return garbled, err
		}
	}
}

// resume opens the stream again on which the answer broke off.
func (x *postRequest) resume(reader *sse.Reader, s *legacyState, broken error) (*http.Response, error) {
	for failures := 0; ; failures++ {
		if err := sleep(x.ctx, retryDelay(reader, failures)); err != nil {
			return nil, err
		}
		resp, err := x.c.openGetStream(x.ctx, s, reader.LastEventID())
		switch refused, _ := errors.AsType[*StatusError](err); {
		case err == nil:
			return resp, nil
		case x.ctx.Err() != nil:
			return nil, context.Cause(x.ctx)
		case refused != nil && refused.sessionLost && s.sessionID != "":
			x.c.markSessionLost(s.sessionID)
			return nil, fmt.Errorf("%w, and the server has forgotten the session", broken) // it may have done what the call says: no second try
		case failures+1 == maxResumes || refused != nil && !refused.isTemporary():
			return nil, fmt.Errorf("%w, and cannot be resumed: %w", broken, err)
		}
	}
}

// isTemporary reports a refusal that may not be the last word. With 409, servers say that they have not noticed yet that the last stream has ended.
func (e *StatusError) isTemporary() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
}

// sleep waits. The error is that of ctx.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openGetStream opens a stream with GET, from behind the event with that id if it is not "".
func (c *Conn) openGetStream(ctx context.Context, s *legacyState, after string) (*http.Response, error) {
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
		err = &textError{fmt.Sprintf("GET %s: the Content-Type %.100q in place of text/event-stream", redactURL(req.URL), kind), rpc.ErrProtocol}
	default:
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, err
}
