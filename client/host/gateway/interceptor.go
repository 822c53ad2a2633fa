package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// An Interceptor looks at calls of tools, before they are made or at what has come of them. It may put other Arguments into the event, or, afterwards, another Result; what it was given is to be
// read only. With an error the call is refused, and the client is told its text; so is a call whose new arguments or result are no JSON object. It may be called by any number of goroutines
// at a time, and has to heed ctx, that of the client's request.
type Interceptor func(ctx context.Context, e *Event) error

// An Event is a call of a tool.
type Event struct {
	Server, Tool string // the ID of the server, and what it calls the tool
	Principal    string // who makes the call, as the surface has authenticated them
	Arguments    json.RawMessage
	Result       json.RawMessage // nil before the call; may say isError
}

// What refuses calls, as the audit log has it.
const (
	byLimit  = "limit"
	byBefore = "before"
	byAfter  = "after"
)

// A refusal is the error of a call that the gateway itself refuses.
type refusal struct {
	by     string
	reason *rpc.Error
}

func (r *refusal) Error() string { return r.reason.Error() }
func (r *refusal) Unwrap() error { return r.reason }

var errNoObject = errors.New("it was changed into what is no JSON object")

// intercept shows a call to interceptors, one after the other.
func (c *call) intercept(ctx context.Context, by string, all []Interceptor) error {
	for _, look := range all {
		e := c.Event
		err := contain.Do(func() error { return look(ctx, &e) })
		if _, panicked := errors.AsType[*contain.PanicError](err); panicked {
			return err
		}
		text, target := e.Arguments, &c.Arguments
		if by == byAfter {
			text, target = e.Result, &c.Result
		}
		if err == nil && (jsonscan.Valid(text) != nil || text[jsonscan.Space(text, 0)] != '{') {
			err = errNoObject
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
