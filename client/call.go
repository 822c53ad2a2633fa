package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/client/internal/progress"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/extensionid"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A CallOption changes one call.
type CallOption func(*call)

// OnProgress asks the server to report progress, and calls f with each report on the goroutine that
// made the call, never after the call has returned. If progress arrives faster than f returns, f
// gets only the latest report. A question of a legacy server, such as an elicitation, is passed to
// its callback after f has returned for the progress before it, or a second later if f has not.
// Progress extends the call's timeout.
func OnProgress(f func(mcp.ProgressParams)) CallOption { return func(c *call) { c.onProgress = f } }

// OnTask calls f with the state of the task, if the call becomes one: at the start, when a poll
// finds that the status or its message has changed, and at the end. f runs on the goroutine that
// made the call, and must not modify its argument.
func OnTask(f func(mcp.Task)) CallOption { return func(c *call) { c.onTask = f } }

// Timeout sets how long the call waits for a response, or for progress if [OnProgress] is given, in
// place of Options.CallTimeout. A negative d means no timeout; 0 keeps the default. Progress
// extends the call up to Options.MaxCallTime, or up to d if that is longer.
func Timeout(d time.Duration) CallOption { return func(c *call) { c.timeout = d } }

// Meta adds members to the request's _meta, such as a trace context. It cannot replace members that
// the client sets.
func Meta(m mcp.Meta) CallOption { return func(c *call) { c.extra = m } }

// ReturnInputRequests makes the call return input requests of a modern server as an
// [*InputRequiredError], even if callbacks in [Options] could answer them. From a legacy server it
// returns error -32042 (URL elicitation required).
func ReturnInputRequests() CallOption { return func(c *call) { c.returnInput = true } }

// Answers gives the input responses for an [*InputRequiredError]. Except for them, the call must
// equal the one that failed. The keys are those of the input requests, and RequestState is a copy
// of the one in the result.
func Answers(a mcp.InputAnswers) CallOption { return func(c *call) { c.answers = a } }

// TaskTTL asks a server of 2025-11-25 to keep the task of a call for this time from its creation.
// The server decides; [Task.State] has the actual time. It has no effect on other servers.
func TaskTTL(d time.Duration) CallOption { return func(c *call) { c.ttl = d } }

// Fresh bypasses the cache; the new result is stored if it may be (see the package comment,
// "Caching"). For a list, it makes all pages equally recent.
func Fresh() CallOption { return func(c *call) { c.fresh = true } }

// A call is a request of the client. It encodes its own params.
type call struct {
	method  string
	tool    string // of tools/call
	name    string // for errors: the URI of resources/read, the prompt of prompts/get
	params  any    // the arguments of tools/call, the params of any other method
	meta    *requestMeta
	extra   mcp.Meta
	answers mcp.InputAnswers
	// the encoded requestState of the last input_required result, if the client answers it
	requestState []byte
	returnInput  bool
	fresh        bool // bypasses the cache
	fromCache    bool // the result came from the cache
	timeout      time.Duration
	onProgress   func(mcp.ProgressParams)
	progress     *progress.Mailbox // nil without onProgress
	onTask       func(mcp.Task)

	requestTask bool          // the request asks for a task (2025-11-25)
	ttl         time.Duration // the requested time to live of that task; 0 leaves it to the server
	// receives the task that the call becomes, without waiting for it; nil to wait
	started    **Task
	waitedTask *Task // if set, no request is sent: the call waits for this task

	decode        func(result []byte) error // must not retain the result
	kept          json.RawMessage           // the result, if decode is call.keep
	hasResultType bool                      // results have a resultType
	startedAt     time.Time                 // when the call was made
	expires       time.Time                 // the current deadline; zero for none
	sendCtx       sendContext
	codecErr      error // why the params cannot be encoded or the result not decoded
}

// AppendJSON implements [rpc.Appender]: it appends the params, including the _meta that the
// protocol requires.
func (r *call) AppendJSON(dst []byte) ([]byte, error) {
	o := object.Open(dst)
	r.codecErr = r.appendParams(&o)
	return o.Close(), r.codecErr
}

func (r *call) appendParams(o *object.Object) error {
	var own mcp.Meta // the _meta of the params themselves
	var err error
	if r.tool != "" {
		o.Text("name", r.tool)
		o.Key("arguments")
		if o.B, err = object.Append(o.B, r.params); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
		r.appendTask(o)
	} else {
		params, err := object.Append(nil, r.params)
		if err != nil {
			return fmt.Errorf("params: %w", err)
		}
		for token, value := range jsonscan.Members(params) {
			if jsonscan.KeyIs(token, "_meta") {
				if own, err = decodeMeta(value); err != nil {
					return fmt.Errorf("params: _meta: %w", err)
				}
				continue
			}
			o.Member(token, value)
		}
	}
	if r.answers.InputResponses != nil {
		answers, err := mcp.Marshal(r.answers.InputResponses)
		if err != nil {
			return fmt.Errorf("answers: %w", err)
		}
		o.Key("inputResponses")
		o.B = append(o.B, answers...)
	}
	if r.requestState != nil {
		o.Key("requestState")
		o.B = append(o.B, r.requestState...)
	} else if r.answers.RequestState != "" {
		o.Text("requestState", r.answers.RequestState)
	}
	return r.appendMeta(o, own)
}

// decodeMeta is a function of its own so that params without _meta need no memory for one.
func decodeMeta(raw []byte) (m mcp.Meta, err error) {
	err = mcp.Unmarshal(raw, &m)
	return m, err
}

// ownMeta are the members that a call cannot replace.
var ownMeta = []string{mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities,
	mcp.MetaProgressToken}

// appendMeta appends the member _meta, unless it is empty.
func (r *call) appendMeta(o *object.Object, own mcp.Meta) error {
	if len(r.meta.members) == 0 && r.progress == nil && len(own)+len(r.extra) == 0 {
		return nil
	}
	o.Key("_meta")
	m := object.Open(o.B)
	m.Members(r.meta.members)
	if r.progress != nil {
		m.Key(mcp.MetaProgressToken)
		m.B = strconv.AppendInt(m.B, r.progress.Token, 10)
	}
	level := r.meta.level
	if len(own)+len(r.extra) > 0 {
		all := maps.Clone(own)
		if all == nil {
			all = make(mcp.Meta, len(r.extra))
		}
		maps.Copy(all, r.extra)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if slices.Contains(ownMeta, name) {
				continue
			}
			if name == mcp.MetaLogLevel {
				level = nil
			}
			m.Key(name)
			var err error
			if m.B, err = object.AppendValue(m.B, all[name]); err != nil {
				return fmt.Errorf("_meta[%q]: %w", name, err)
			}
		}
	}
	if level != nil {
		m.Key(mcp.MetaLogLevel)
		m.B = append(m.B, level...)
	}
	o.B = m.Close()
	return nil
}

// appendTask appends the param that requests a task.
func (r *call) appendTask(o *object.Object) {
	if !r.requestTask {
		return
	}
	o.Key("task")
	wish := object.Open(o.B)
	if r.ttl > 0 {
		wish.Key("ttl")
		wish.B = strconv.AppendInt(wish.B, max(1, r.ttl.Milliseconds()), 10)
	}
	o.B = wish.Close()
}

// exchange sends the request of a call, waits for the response and decodes its result. The ID is
// zero if the request was not sent.
func (c *Client) exchange(ctx context.Context, r *call, method string, params, result any) (rpc.ID,
	error) {
	r.sendCtx = sendContext{Context: ctx, expires: r.expires}
	pending, err := c.peer.Start(&r.sendCtx, method, params)
	r.sendCtx.release()
	if err != nil {
		return rpc.ID{}, c.sendError(ctx, r, err)
	}
	id := pending.ID()
	if err := c.await(ctx, r, pending); err != nil {
		return id, err
	}
	if err := pending.Wait(context.Background(), result); err != nil {
		return id, c.connectionError(ctx, err)
	}
	return id, nil
}

// A sendContext limits how long sending a request may block. Sending blocks only if the server does
// not read, so the timer is created on the first call of Done.
type sendContext struct {
	context.Context
	expires time.Time       // zero for never
	limited context.Context // nil until Done is called
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

// errExpired is the cancellation cause of a call that timed out.
var errExpired = errors.New("timed out")

// await waits for the response and delivers progress. It cancels the request and returns the reason
// when the call times out, ctx ends or the client is closed. A response that arrives at the same
// moment is used.
func (c *Client) await(ctx context.Context, r *call, pending *rpc.Call) error {
	settled := false
	defer func() {
		if !settled {
			c.cancelled.Cancel(r.method, pending, context.Canceled) // onProgress panicked
		}
	}()
	for {
		cause, reason := c.waitCall(ctx, r, pending.Done(), -1)
		if reason == nil {
			settled = true
			r.deliver() // progress that arrived before the response
			return nil
		}
		if c.cancelled.Cancel(r.method, pending, cause) {
			settled = true
			return reason
		}
	}
}

// waitCall waits for ready, or for d if d is not negative, and delivers progress meanwhile. If the
// call must end first, reason is its error and cause is the cancellation cause of its requests.
func (c *Client) waitCall(ctx context.Context, r *call, ready <-chan struct{},
	d time.Duration) (cause, reason error) {
	var expired, over <-chan time.Time
	var expiry *time.Timer
	if !r.expires.IsZero() {
		left, ok := max(0, time.Until(r.expires)), false
		if expiry, ok = c.timers.Get().(*time.Timer); ok {
			expiry.Reset(left)
		} else {
			expiry = time.NewTimer(left)
		}
		defer c.timers.Put(expiry)
		defer expiry.Stop()
		expired = expiry.C
	}
	var lost <-chan struct{} // ready is also closed when the connection ends
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over, lost = timer.C, c.peer.Closed()
	}
	var progress <-chan struct{}
	if r.progress != nil {
		progress = r.progress.Ready
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
					progress = nil // it no longer extends the deadline
				}
			}
		case <-expired:
			if c.extension(r) == 0 || !r.deliver() {
				return errExpired, c.abortError(context.DeadlineExceeded, r)
			}
			expiry.Reset(c.extend(r)) // progress arrived in time
		case <-ctx.Done():
			return context.Cause(ctx), c.abortError(ctx.Err(), r)
		case <-c.closing:
			return errClosed, errClosed
		case <-lost:
			return rpc.ErrClosed, c.connectionError(ctx, rpc.ErrClosed)
		}
	}
}

// extension returns how long a call may continue after progress.
func (c *Client) extension(r *call) time.Duration {
	if c.o.MaxCallTime < 0 {
		return r.timeout
	}
	return max(0, min(r.timeout, max(c.o.MaxCallTime, r.timeout)-time.Since(r.startedAt)))
}

// extend moves the deadline of a call after progress, and returns the time left.
func (c *Client) extend(r *call) time.Duration {
	more := c.extension(r)
	r.expires = time.Now().Add(more)
	return more
}

// deliver passes new progress to the application, and reports whether there was any.
func (r *call) deliver() bool {
	if r.progress == nil {
		return false
	}
	p := r.progress.Take()
	defer r.progress.Done()
	if p != nil {
		r.onProgress(*p)
	}
	return p != nil
}

// abortError returns the error of a call that is given up because of its context's error err.
func (c *Client) abortError(err error, r *call) error {
	after := time.Since(r.startedAt)
	if errors.Is(err, context.DeadlineExceeded) {
		return &TimeoutError{After: after, Silence: c.activity.silence(),
			Unmatched: c.Stats().Unmatched}
	}
	return fmt.Errorf("%w after %s", err, round(after))
}

// sendError converts the error of sending a request into one that describes the cause.
func (c *Client) sendError(ctx context.Context, r *call, err error) error {
	broken, _ := errors.AsType[*framing.FrameError](err)
	switch {
	case r.codecErr != nil:
		return r.codecErr
	case broken != nil:
		return errtext.Wrap(
			fmt.Sprintf("not sent: the request has %d bytes, over the limit of %d (Options.MaxSend)",
				broken.Size, broken.Limit), broken)
	case errors.Is(err, rpc.ErrClosed):
		return c.connectionError(ctx, err)
	case errors.Is(err, context.DeadlineExceeded):
		return c.abortError(context.DeadlineExceeded, r)
	case errors.Is(err, context.Canceled):
		return c.abortError(context.Canceled, r)
	}
	return c.connectionError(ctx, err)
}

// UnmarshalJSON decodes the result in the receive buffer. It stores its error in codecErr, because
// rpc would wrap an error that it returns.
func (r *call) UnmarshalJSON(result []byte) error {
	switch {
	case r.requestTask:
		r.codecErr = decodeExperimentalTaskCreated(result)
	case r.hasResultType && r.method != mcp.MethodGetTask:
		// the examples in the specification have "task" there
		r.codecErr = checkResultType(result)
	}
	if r.codecErr == nil {
		r.codecErr = r.take(result)
	}
	return nil
}

// keep is the decode function of calls whose result is not decoded.
func (r *call) keep(result []byte) error {
	r.kept = append(r.kept[:0], result...)
	return nil
}

// take decodes a result, from the response or from a task. Results of MCP's own methods must be
// objects.
func (r *call) take(result []byte) error {
	if result[0] != '{' && extensionid.IsMethod(r.method) {
		return errtext.Protocol("its result is not an object: %.40s", result)
	}
	return r.decode(result)
}

// decodeInto returns a decode function that stores the result in *result.
func decodeInto[R any](result *R) func([]byte) error {
	return func(raw []byte) error {
		*result = *new(R) // decoding a cached result may have failed half-way
		if err := mcp.Unmarshal(raw, result); err != nil {
			return errtext.Protocol("an invalid result: %v", err)
		}
		return nil
	}
}

// An InputRequiredError is returned if a modern server requests input (2026-07-28, Multi Round-Trip
// Requests) and the client does not answer: [Options] has no callback for a request, or the call
// has the option [ReturnInputRequests]. Repeat the call with [Answers]; if Task is set, continue
// with that.
type InputRequiredError struct {
	Result *mcp.InputRequiredResult
	Raw    []byte // the result of the call or of tasks/get, as the server wrote it
	// the task that requests input, if the call became one: answer with [Task.Update], then
	// [Task.Wait]; or [Task.Cancel]
	Task *Task
}

func (e *InputRequiredError) Error() string {
	return fmt.Sprintf("the server wants input first (%d requests)", len(e.Result.InputRequests))
}

// checkResultType returns an error unless the result is complete (2026-07-28, Base Protocol,
// "ResultType").
func checkResultType(result []byte) error {
	kind := jsonscan.Member(result, "resultType")
	switch text, _ := jsonscan.Unquote(kind); {
	case kind == nil || string(text) == "complete":
		return nil
	case string(text) == "input_required":
		e := &InputRequiredError{Result: new(mcp.InputRequiredResult), Raw: bytes.Clone(result)}
		if err := mcp.Unmarshal(result, e.Result); err != nil {
			return errtext.Protocol("an invalid input_required result: %v", err)
		}
		return e
	case string(text) == "task":
		return decodeTaskCreated(result)
	}
	return errtext.Protocol("a result of the unknown type %.100s", kind)
}
