package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc"
)

const (
	// defaultRetry is the delay before a stream is reopened if the server sends no retry. It
	// doubles with each failure up to maxRetry.
	defaultRetry = time.Second
	// minRetry is the minimum delay, so that servers with short streams do not keep the client
	// busy.
	minRetry = 100 * time.Millisecond
	maxRetry = time.Minute
	// maxResumes is how often in a row a response is resumed while the server cannot be reached.
	maxResumes = 5
)

// retryDelay returns the delay before a stream is reopened after consecutive failures.
func retryDelay(reader *sse.Reader, failures int) time.Duration {
	retry, ok := reader.Retry()
	if ok && failures == 0 {
		return max(retry, minRetry)
	}
	return max(retry, min(defaultRetry<<min(failures, 10), maxRetry))
}

// nextMessage returns a copy of the next message of a stream. It skips events without data, with
// which legacy servers send an event id.
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

func (c *conn) newReader(body io.Reader) *sse.Reader {
	return sse.NewReader(body, sse.Limits{MaxData: c.limits.MaxFrame})
}

// readStream reads a response that is an event stream. If the stream of a legacy server breaks off,
// it is resumed (2025-11-25, Transports, "Resumability and Redelivery").
func (r *postRequest) readStream(resp *http.Response, s *legacyState) error {
	reader := r.c.newReader(resp.Body)
	defer func() { _ = resp.Body.Close() }() // of the latest response
	for {
		r.streaming.Store(true)
		invalid, err := r.deliverEvents(reader, s)
		r.streaming.Store(false)
		switch {
		case r.answered:
			drain(resp.Body, func() { r.cancel(context.Canceled) })
			return err
		case r.ctx.Err() != nil:
			return context.Cause(r.ctx)
		}
		if limit, ok := errors.AsType[*sse.LimitError](err); ok {
			return eventLimitError(limit) // the event may have been the response
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		broken := cutError(resp.Request, err)
		if r.modern || invalid || reader.LastEventID() == "" || r.cancelled.Load() {
			return broken
		}
		_ = resp.Body.Close()
		again, err := r.resume(reader, s, broken)
		if err != nil {
			return err
		}
		resp = again
		reader.Reset(resp.Body)
	}
}

// deliverEvents delivers the messages of a stream until the response or an error. invalid reports
// whether an event was not a JSON-RPC message; the client handles such events, one of which may
// have been the response.
func (r *postRequest) deliverEvents(reader *sse.Reader, s *legacyState) (invalid bool, err error) {
	for {
		message, err := nextMessage(reader)
		if err != nil {
			return invalid, err
		}
		invalid = r.inspect(message, s) != nil || invalid
		if err := r.c.deliver(r.ctx, message); err != nil || r.answered {
			return invalid, err
		}
	}
}

// resume reopens a stream that broke off before the response.
func (r *postRequest) resume(
	reader *sse.Reader, s *legacyState, broken error,
) (*http.Response, error) {
	for failures := 0; ; failures++ {
		if err := sleep(r.ctx, retryDelay(reader, failures)); err != nil {
			return nil, err
		}
		resp, err := r.c.openGetStream(r.ctx, s, reader.LastEventID())
		switch refused, _ := errors.AsType[*StatusError](err); {
		case err == nil:
			return resp, nil
		case r.ctx.Err() != nil:
			return nil, context.Cause(r.ctx)
		case refused != nil && refused.sessionLost && s.sessionID != "":
			r.c.markSessionLost(s.sessionID)
			// the server may have performed the request, so it is not sent again
			return nil, fmt.Errorf("%w, and the server no longer knows the session", broken)
		case failures+1 == maxResumes || refused != nil && !refused.isTemporary():
			return nil, fmt.Errorf("%w, and the stream cannot be resumed: %w", broken, err)
		}
	}
}

// isTemporary reports whether a later attempt may succeed. Servers answer 409 until they notice
// that the previous stream has ended.
func (e *StatusError) isTemporary() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests ||
		e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
}

// sleep waits for a duration or until ctx ends.
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

// openGetStream opens an event stream with GET. If lastID is not "", the stream is resumed after
// the event with that id.
func (c *conn) openGetStream(
	ctx context.Context, s *legacyState, lastID string,
) (*http.Response, error) {
	req := c.request(ctx, http.MethodGet, nil, s)
	if lastID != "" {
		req.Header[lastEventID] = []string{lastID}
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
		err = &textError{fmt.Sprintf("GET %s: Content-Type %.100q instead of text/event-stream",
			httpurl.Public(req.URL), kind), rpc.ErrProtocol}
	default:
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, err
}
