package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An inputHandler answers an input request: a request of a legacy server, or a part of a modern
// server's result. The error is an *invalidInputRequest or that of the callback.
type inputHandler func(ctx context.Context, params json.RawMessage) (answer json.RawMessage,
	err error)

// newInputHandlers returns the handlers of the input requests that have callbacks and so are
// declared.
func (c *Client) newInputHandlers() map[string]inputHandler {
	table := make(map[string]inputHandler)
	if c.o.Roots != nil || c.o.OnRoots != nil {
		table[mcp.MethodListRoots] = c.answerListRoots
	}
	if c.o.OnElicit != nil {
		table[mcp.MethodElicit] = c.elicit
	}
	if c.o.OnSample != nil {
		table[mcp.MethodCreateMessage] = c.sample
	}
	return table
}

// An invalidInputRequest is the error of an input request that is invalid. It matches
// [rpc.ErrProtocol].
type invalidInputRequest struct{ text string }

func (e *invalidInputRequest) Error() string        { return e.text }
func (e *invalidInputRequest) Is(target error) bool { return target == rpc.ErrProtocol }

func invalidInputRequestf(format string, args ...any) error {
	return &invalidInputRequest{fmt.Sprintf(format, args...)}
}

func encode(v any) (json.RawMessage, error) {
	raw, err := mcp.Marshal(v)
	return raw, err
}

// errCallbackGoexit is the error of a callback that calls runtime.Goexit.
var errCallbackGoexit = errors.New("a callback has ended its goroutine instead of returning")

// runInputCallback runs a callback that answers an input request. A panic becomes an error.
func runInputCallback[P, R any](ctx context.Context, c *Client, name, method string,
	callback func(context.Context, P) (*R, error), params P) (result *R, err error) {
	failure := contain.Run(func() { result, err = callback(ctx, params) })
	switch {
	case failure != nil && failure.Stack == nil:
		return nil, errCallbackGoexit
	case failure != nil:
		c.logCallbackPanic(name, failure)
		return nil, &rpc.PanicError{Method: method, Value: failure.Value, Stack: failure.Stack}
	}
	if err == nil && result == nil {
		err = errors.New("Options." + name + " returned neither a result nor an error")
	}
	return result, err
}
