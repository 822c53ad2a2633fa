// Package hook asks programs of the operator before and after the calls of a gateway, which see,
// change or refuse them.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A hook is asked before or after each call of a tool. It gets a [message]. It answers nothing to
// leave the arguments or the result unchanged, {"arguments":…} or {"result":…} to replace them, or
// {"deny":"why"} to refuse the call. Any other answer refuses the call, too, and so does a hook
// that fails or does not answer in time.
type hook struct {
	name    string // for errors and the log
	log     *slog.Logger
	timeout time.Duration // for its answer
	running *quota.Pool   // limits the calls that it is asked about at a time, by principal
	ask     asker
}

// An asker sends a message to a hook and returns its answer. The context has the time limit.
type asker func(context.Context, *message) ([]byte, error)

const (
	timeout   = 10 * time.Second
	maxAnswer = 32 << 20 // bytes of an answer
)

// A denial is the reason that a hook gave for refusing a call.
type denial string

func (d denial) Error() string { return string(d) }

// before asks the hook before calls of tools. It does not ask about a call that is in flight, whose
// arguments the hook has seen.
func (h *hook) before(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		if i.Kind != string(mcp.KindTool) || i.InFlight {
			return next(ctx, i)
		}
		own := *i
		var err error
		if own.Arguments, err = h.check(ctx, i, phaseBefore, i.Arguments); err != nil {
			return nil, err
		}
		return next(ctx, &own)
	}
}

// after asks the hook about the results of tools.
func (h *hook) after(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		result, err := next(ctx, i)
		if err != nil || i.Kind != string(mcp.KindTool) {
			return result, err
		}
		object, err := h.check(ctx, i, phaseAfter, result.JSON())
		if err != nil {
			return nil, err
		}
		return server.NewResult(object), nil
	}
}

// check asks the hook about the arguments or the result of a call and returns what has become of
// them.
func (h *hook) check(ctx context.Context, i *dispatch.Invocation, p phase,
	value json.RawMessage) (json.RawMessage, error) {
	answer, err := h.answer(ctx, newMessage(ctx, i, p, value))
	if err == nil {
		value, err = applyAnswer(answer, p.value(), value)
	}
	if _, denied := errors.AsType[denial](err); err == nil || denied || ctx.Err() != nil {
		return value, err
	}
	h.log.Warn("a hook failed; the call is refused", slog.String("phase", string(p)),
		slog.String("server", i.Server), slog.String("tool", i.Name), slog.Any("error", err))
	return nil, fmt.Errorf("the hook %q failed: %w", h.name, err)
}

// answer returns the answer of the hook to a message.
func (h *hook) answer(ctx context.Context, m *message) ([]byte, error) {
	if err := h.running.Wait(ctx, m.Principal, 1); err != nil {
		return nil, err
	}
	defer h.running.Give(m.Principal, 1)
	timed, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	answer, err := h.ask(timed, m)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case timed.Err() != nil:
		return nil, fmt.Errorf("it did not answer within %v", h.timeout)
	}
	return nil, err
}

// applyAnswer returns the value of this name after the answer of the hook. An unknown answer is an
// error, because it may have been meant to refuse the call.
func applyAnswer(answer []byte, name string, value json.RawMessage) (json.RawMessage, error) {
	if answer = bytes.TrimSpace(answer); len(answer) == 0 {
		return value, nil
	}
	if err := jsonscan.Valid(answer); err != nil {
		return nil, fmt.Errorf("its answer is not JSON: %w", err)
	}
	if answer[0] != '{' {
		return nil, errors.New("its answer is not a JSON object")
	}
	members := map[string]json.RawMessage{}
	for key, member := range jsonscan.Named(answer) {
		if _, twice := members[key]; twice || key != "deny" && key != name {
			return nil, fmt.Errorf("its answer must have one member, %s or deny, and has %.40q", name,
				key)
		}
		members[key] = member
	}
	if deny, ok := members["deny"]; ok {
		reason, ok := jsonscan.Text(deny)
		if !ok {
			return nil, errors.New("the deny of its answer is not a string")
		}
		return nil, denial(cmp.Or(reason, "the hook gives no reason"))
	}
	if replaced, ok := members[name]; ok {
		return replaced, nil // which the gateway checks
	}
	return value, nil
}
