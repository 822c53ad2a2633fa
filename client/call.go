package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A CallOption changes one call.
type CallOption func(*call)

// OnProgress asks the server to report progress on the call, and calls f with it: on the goroutine that made the call, and never after the call has
// returned. If the server is faster than f, f gets the newest only. Progress extends the call's timeout.
func OnProgress(f func(mcp.ProgressParams)) CallOption { return func(c *call) { c.onProgress = f } }

// OnTask calls f with the state of the task that the call becomes, if it does: at once, and
// whenever its status or what the server says of it is found to have changed, the last time when it
// has ended. f runs on the goroutine that made the call, and must not change what it is given.
func OnTask(f func(mcp.Task)) CallOption { return func(c *call) { c.onTask = f } }

// Timeout sets how long the call waits for an answer, or for progress if there is an [OnProgress], in place of Options.CallTimeout. Negative is for ever, 0 leaves it.
// Progress extends it up to Options.MaxCallTime, or up to d if that is more.
func Timeout(d time.Duration) CallOption { return func(c *call) { c.timeout = d } }

// Meta adds members to the request's _meta, such as a trace context. Those that the client sets itself cannot be replaced.
func Meta(m mcp.Meta) CallOption { return func(c *call) { c.extra = m } }

// ByHand has questions of a modern server returned, as an [*InputRequiredError], although there are callbacks in [Options] that could answer them; and of a
// legacy one the error -32042, which says that the user has to do something first.
func ByHand() CallOption { return func(c *call) { c.byHand = true } }

// Answers answers what an [*InputRequiredError] asks for. The call must be the same as the one that it came from otherwise; the answers have the names
// that the requests have, and RequestState is as it came.
func Answers(a mcp.InputAnswers) CallOption { return func(c *call) { c.answers = a } }

// A call is a request on its way, and encodes its own params.
type call struct {
	method     string
	tool       string // of tools/call
	name       string // of resources/read the URI, of prompts/get the prompt: for errors
	params     any    // of all else; of tools/call, its arguments
	meta       *requestMeta
	extra      mcp.Meta
	answers    mcp.InputAnswers
	requestState      []byte // the requestState that goes with them, encoded as the server wrote it, if the client answers by itself
	byHand     bool
	fresh      bool // is not looked for in the cache
	fromCache       bool // was found there
	timeout    time.Duration
	onProgress func(mcp.ProgressParams)
	progress        *progressMailbox // nil without onProgress
	onTask     func(mcp.Task)

	requestTask  bool          // asks to become a task, as 2025-11-25 has them
	ttl     time.Duration // to keep that; 0 does not say
	started **Task        // takes the task that the call becomes, which is not waited for; nil if it is
	waitedTask   *Task         // the call is no request but the wait for a task

	decode  func(result []byte) error // must not keep the result
	hasResultType   bool                      // results have a resultType
	startedAt      time.Time                 // when the call was made
	expires time.Time                 // when its time runs out, as it looks now; zero for never
	sendCtx sendContext
	codecErr     error // why the params cannot be encoded, or the result not decoded
}

// Call sends a request of any method, unless its result is in the cache, and returns the result, every byte of it as the server wrote it. Params must encode
// as a JSON object; nil is none. What the revision wants in _meta is added. The server's questions on the way are answered by the callbacks in [Options]: see the
// package comment.
//
// It blocks until the answer is there, the call has timed out (see [Options]), or ctx ends; in the last two cases the server is told that the answer is
// not wanted any more. The error is a [*CallError].
func (c *Client) Call(ctx context.Context, method string, params any, opts ...CallOption) (json.RawMessage, error) {
	var raw json.RawMessage
	err := c.do(ctx, &call{method: method, params: params, decode: raw.UnmarshalJSON}, opts)
	return raw, err
}

// do makes a call.
func (c *Client) do(ctx context.Context, r *call, opts []CallOption) error {
	r.meta, r.hasResultType, r.startedAt = c.meta.Load(), c.session.Load().features.ResultType, time.Now()
	for _, option := range opts {
		option(r)
	}
	if r.timeout = cmp.Or(r.timeout, c.o.CallTimeout); r.timeout >= 0 {
		r.expires = r.startedAt.Add(r.timeout)
	}
	if r.onProgress != nil {
		r.progress = c.calls.open()
		defer c.calls.close(r.progress)
	}
	if r.method == mcp.MethodListTools && c.needsToolList() {
		decode := r.decode
		r.decode = func(result []byte) error {
			c.learnTools(result)
			return decode(result)
		}
	}
	if err := c.callCached(ctx, r); err != nil {
		return &CallError{Server: c.o.Name, Method: r.method, Tool: r.tool, Name: r.name, Err: err}
	}
	return nil
}

// exchange sends the request of a call and takes the answer. What the server has not even looked at is sent once more, when the reason was put right.
func (c *Client) sendWithRetry(ctx context.Context, r *call) error {
	before := c.session.Load()
	err := c.sendOnce(ctx, r)
	if err == nil {
		return nil
	}
	var again func(context.Context) error
	if errors.Is(err, ErrSessionLost) {
		again = func(ctx context.Context) error { return c.renewSession(ctx, before) }
	} else if refusal, ok := err.(*rpc.Error); ok && refusal.Code == mcp.CodeHeaderMismatch && c.headerTools != nil && r.tool != "" {
		again = func(ctx context.Context) error { return c.refreshHeaderTools(ctx, r.tool, refusal) }
	} else {
		return err
	}
	cancel := func() {}
	limited := ctx
	if !r.expires.IsZero() {
		limited, cancel = context.WithDeadline(ctx, r.expires)
	}
	defer cancel()
	if err := again(limited); err != nil {
		if limited.Err() != nil {
			return c.abortError(limited.Err(), r)
		}
		return err
	}
	if err = c.sendOnce(ctx, r); errors.Is(err, ErrSessionLost) {
		return fmt.Errorf("%w, and the next one too", ErrSessionLost)
	}
	return err
}

// attempt sends the request of a call once and takes the answer.
func (c *Client) sendOnce(ctx context.Context, r *call) error {
	if err := ctx.Err(); err != nil {
		return c.abortError(err, r) // nothing is sent in vain
	}
	if c.isClosing() {
		return errClosed
	}
	r.sendCtx = sendContext{Context: ctx, expires: r.expires}
	pending, err := c.peer.Start(&r.sendCtx, r.method, r)
	r.sendCtx.release()
	if err != nil {
		return c.sendError(r, err)
	}
	if err := c.await(ctx, r, pending); err != nil {
		return err
	}
	return c.receiveResult(r, pending)
}

// A sendContext limits how long a request may take to be sent. That is no time at all unless the server has stopped reading, so nothing is
// made before somebody waits.
type sendContext struct {
	context.Context
	expires time.Time       // zero for never
	limited context.Context // nil if nobody has waited
	cancel  context.CancelFunc
}

func (s *sendContext) Done() <-chan struct{} {
	if s.expires.IsZero() {
		return s.Context.Done()
	}
	if s.limited == nil {
		s.limited, s.cancel = context.WithDeadline(s.Context, s.expires)
	}
	return s.limited.Done()
}

func (s *sendContext) Err() error {
	if s.limited != nil {
		return s.limited.Err()
	}
	return s.Context.Err()
}

func (s *sendContext) release() {
	if s.cancel != nil {
		s.cancel()
	}
}

// errExpired is the cause of a call's end when its time has run out.
var errExpired = errors.New("timed out")

// await waits until the call is done, and delivers its progress meanwhile. It gives the call up, and returns the reason, when its time has run out, ctx
// has ended or the client is closed. If the answer comes at the same moment, it is taken.
func (c *Client) await(ctx context.Context, r *call, pending *rpc.Pending) error {
	settled := false
	defer func() {
		if !settled {
			pending.Cancel(context.Canceled) // onProgress panicked
		}
	}()
	for {
		cause, reason := c.waitCall(ctx, r, pending.Done(), -1)
		if reason == nil {
			settled = true
			r.deliver() // what came before the answer
			return nil
		}
		if c.giveUp(r, pending, cause) {
			settled = true
			return reason
		}
	}
}

// rest waits until ready is, or for d if that is not negative, and delivers the progress of a call meanwhile. If the call has to end before, reason says why, and
// cause is what its requests are to be cancelled for.
func (c *Client) waitCall(ctx context.Context, r *call, ready <-chan struct{}, d time.Duration) (cause, reason error) {
	var expired, over <-chan time.Time
	var expiry *time.Timer
	if !r.expires.IsZero() {
		expiry = time.NewTimer(max(0, time.Until(r.expires)))
		defer expiry.Stop()
		expired = expiry.C
	}
	var lost <-chan struct{} // what is ready when an answer is, is also when there will be none
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over, lost = timer.C, c.peer.Closed()
	}
	var progress <-chan struct{}
	if r.progress != nil {
		progress = r.progress.ready
	}
	for {
		select {
		case <-ready:
			return nil, nil
		case <-over:
			return nil, nil
		case <-progress:
			if r.deliver() && expiry != nil {
				more := c.extend(r)
				expiry.Reset(more)
				if more == 0 {
					progress = nil // it does not count any more
				}
			}
		case <-expired:
			if c.extension(r) == 0 || !r.deliver() {
				return errExpired, c.abortError(context.DeadlineExceeded, r)
			}
			expiry.Reset(c.extend(r)) // progress came in time, but was not looked at yet
		case <-ctx.Done():
			return context.Cause(ctx), c.abortError(ctx.Err(), r)
		case <-c.closing:
			return errClosed, errClosed
		case <-lost:
			return rpc.ErrClosed, c.connectionError(rpc.ErrClosed)
		}
	}
}

// extension is how long a call may go on after it has made progress.
func (c *Client) extension(r *call) time.Duration {
	if c.o.MaxCallTime < 0 {
		return r.timeout
	}
	return max(0, min(r.timeout, max(c.o.MaxCallTime, r.timeout)-time.Since(r.startedAt)))
}

// extend gives a call that has made progress more time, and returns how much.
func (c *Client) extend(r *call) time.Duration {
	more := c.extension(r)
	r.expires = time.Now().Add(more)
	return more
}

// deliver hands progress to the application, if there is any that is new.
func (r *call) deliver() bool {
	if r.progress == nil {
		return false
	}
	p, ok := r.progress.take()
	if ok {
		r.onProgress(p)
	}
	return ok
}

// gaveUp is the error of a call that is not waited for any more, because of the error of its context.
func (c *Client) abortError(err error, r *call) error {
	after := time.Since(r.startedAt)
	if errors.Is(err, context.DeadlineExceeded) {
		return &TimeoutError{After: after, Silence: c.link.silence()}
	}
	return fmt.Errorf("%w after %s", err, round(after))
}

// unsent makes of the error of sending a request one that tells the whole story.
func (c *Client) sendError(r *call, err error) error {
	broken, _ := errors.AsType[*framing.FrameError](err)
	switch {
	case r.codecErr != nil:
		return r.codecErr
	case broken != nil:
		return &textError{fmt.Sprintf("not sent: the request has %d bytes, over the limit of %d (Options.MaxSend)", broken.Size, broken.Limit), broken}
	case errors.Is(err, rpc.ErrClosed):
		return c.connectionError(err)
	case errors.Is(err, context.DeadlineExceeded):
		return c.abortError(context.DeadlineExceeded, r)
	case errors.Is(err, context.Canceled):
		return c.abortError(context.Canceled, r)
	}
	return c.connectionError(err)
}

// answer takes the answer of a call that is done.
func (c *Client) receiveResult(r *call, pending *rpc.Pending) error {
	if err := pending.Wait(context.Background(), r); err != nil {
		return c.connectionError(err)
	}
	return r.codecErr
}

// UnmarshalJSON gets the result, right in the buffer that it arrived in, and hands it on if it is of a type to be handed on. Its error is for bad: what it
// returns would be wrapped.
func (r *call) UnmarshalJSON(result []byte) error {
	switch {
	case r.requestTask:
		r.codecErr = decodeExperimentalTaskCreated(result)
	case r.hasResultType && r.method != mcp.MethodGetTask: // where the specification's own examples have "task"
		r.codecErr = checkResultType(result)
	}
	if r.codecErr == nil {
		r.codecErr = r.take(result)
	}
	return nil
}

// take decodes the result, be it the answer or a task's. Those of the protocol's methods are
// objects.
func (r *call) take(result []byte) error {
	if result[0] != '{' && isProtocolMethod(r.method) {
		return protocolError("its result is no object: %.40s", result)
	}
	return r.decode(result)
}

// isProtocols reports whether a method is one of the protocol's.
func isProtocolMethod(method string) bool {
	for _, revision := range mcp.Supported() {
		if _, ok := mcp.MethodAt(method, revision); ok {
			return true
		}
	}
	return false
}

// into is the decode of a call whose result is of the type R.
func decodeInto[R any](result *R) func([]byte) error {
	return func(raw []byte) error {
		*result = *new(R) // what was in the cache may not have been one
		if err := mcp.Unmarshal(raw, result); err != nil {
			return protocolError("its result is not one: %v", err)
		}
		return nil
	}
}

// checkResultType refuses what is not a complete result (2026-07-28, Base Protocol, "ResultType").
func checkResultType(result []byte) error {
	kind := jsonscan.Member(result, "resultType")
	switch text, _ := jsonscan.Unquote(kind); {
	case kind == nil || string(text) == "complete":
		return nil
	case string(text) == "input_required":
		e := &InputRequiredError{Result: new(mcp.InputRequiredResult), Raw: bytes.Clone(result)}
		if err := mcp.Unmarshal(result, e.Result); err != nil {
			return protocolError("an input_required result that is none: %v", err)
		}
		return e
	case string(text) == "task":
		return decodeTaskCreated(result)
	}
	return protocolError("a result of the unknown type %.100s", kind)
}
