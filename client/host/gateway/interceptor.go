package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// An Interceptor inspects tool calls before or after they are made. It may replace Arguments before
// the call, or Result after it, but must not modify their bytes. An error refuses the call, and the
// client gets its text. A replacement that is not a JSON object refuses the call as well. An
// Interceptor must be safe for concurrent use and must return when ctx, the context of the client's
// request, ends.
type Interceptor func(ctx context.Context, e *Event) error

// An Event is a call of a tool.
type Event struct {
	Server, Tool string // the ID of the server and its own name of the tool
	Principal    string // the authenticated caller
	Arguments    json.RawMessage
	Result       json.RawMessage // nil before the call; its isError may be true
}

// The values of refusedError.by and auditEntry.By.
const (
	byLimit  = "limit"
	byBefore = "before"
	byPin    = "pin"
	byAfter  = "after"
)

// A refusedError is the error of a call that the gateway refuses.
type refusedError struct {
	by     string
	reason *rpc.Error
}

func (r *refusedError) Error() string { return r.reason.Error() }
func (r *refusedError) Unwrap() error { return r.reason }

var errNotObject = errors.New("the interceptor left a value that is not a JSON object")

// intercept runs the interceptors in order.
func (c *call) intercept(ctx context.Context, by string, all []Interceptor) error {
	for _, interceptor := range all {
		e := c.Event
		err := contain.Do(func() error { return interceptor(ctx, &e) })
		if _, panicked := errors.AsType[*contain.PanicError](err); panicked {
			return err
		}
		text, target := e.Arguments, &c.Arguments
		if by == byAfter {
			text, target = e.Result, &c.Result
		}
		if err == nil && (jsonscan.Valid(text) != nil || text[jsonscan.Space(text, 0)] != '{') {
			err = errNotObject
		}
		switch {
		case err == nil:
			*target = text
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case by == byBefore:
			return c.refuse(by, rpc.CodeInvalidParams, "refused before the call: %v", err)
		default:
			return c.refuse(by, rpc.CodeInternalError, "its result is refused: %v", err)
		}
	}
	return nil
}
