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

// An answerer answers a question of the server's, which is the same in both eras: a request of a legacy server, a part of a modern one's result. The error
// is a *badQuestion, or the callback's.
type inputHandler func(ctx context.Context, params json.RawMessage) (answer json.RawMessage, err error)

// questionTable returns what answers each of the questions that the application wants to hear, and so declares.
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

// A badQuestion is one that makes no sense: the server's fault. It matches [rpc.ErrProtocol].
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

// errExited is the error of a callback that calls runtime.Goexit.
var errCallbackGoexit = errors.New("a callback has ended its goroutine instead of returning")

// consult runs a callback that answers a question. A panic is an error.
func runInputCallback[P, R any](ctx context.Context, c *Client, name, method string, callback func(context.Context, P) (*R, error), params P) (result *R, err error) {
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
