// Package hook runs commands before and after the calls of a gateway, which see, change or refuse
// them.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A hook is a command that runs before or after each call of a tool, one process for each call. It
// reads {"phase":"before","server":…,"tool":…,"arguments":…} from stdin; in the phase "after",
// "result" replaces "arguments". It writes nothing to leave these unchanged, {"arguments":…} or
// {"result":…} to replace them, or {"deny":"why"} to refuse the call. Any other output refuses the
// call, too.
type hook struct {
	words   []string
	log     *slog.Logger
	timeout time.Duration // for its answer
	running *quota.Pool   // limits the running processes, by principal
}

const (
	timeout    = 10 * time.Second
	maxRunning = 32       // concurrent processes of one hook
	maxAnswer  = 32 << 20 // bytes of an answer
	maxStderr  = 4 << 10  // bytes of stderr that are logged
)

// Flag is a flag whose value is a command line; see [shellwords.CommandLine].
func Flag(target *[][]string, name, help string) command.Flag {
	return command.Flag{Name: name, Value: "COMMAND", Many: true, Help: help,
		Set: func(value string) error {
			words, err := shellwords.CommandLine(value)
			*target = append(*target, words)
			return err
		}}
}

// Check returns an error if a command of a flag cannot be found: each call would fail.
func Check(flag string, commands [][]string) error {
	for _, words := range commands {
		if _, err := exec.LookPath(words[0]); err != nil {
			return command.Usagef("%s: %q cannot be run: %v", flag, words[0],
				processgroup.Cause(err)).WithHint("write the path of the program")
		}
	}
	return nil
}

// Interceptors returns the interceptors of a gateway that run commands, each in the order of its
// flags: before on the arguments of a call, after on its result, unless that is an error.
func Interceptors(before, after [][]string, log *slog.Logger) (all []dispatch.Interceptor) {
	for _, words := range before {
		all = append(all, newHook(words, log).before)
	}
	for _, words := range slices.Backward(after) { // the last interceptor gets the result first
		all = append(all, newHook(words, log).after)
	}
	return all
}

func newHook(words []string, log *slog.Logger) *hook {
	return &hook{words: words, log: log, timeout: timeout, running: quota.NewPool(maxRunning)}
}

// A denial is the reason that a command gave for refusing a call.
type denial string

func (d denial) Error() string { return string(d) }

// before runs the command before calls of tools. It does not run for a call that is in flight,
// whose arguments it has seen.
func (h *hook) before(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		if i.Kind != string(mcp.KindTool) || i.InFlight {
			return next(ctx, i)
		}
		own := *i
		var err error
		if own.Arguments, err = h.ask(ctx, i, "before", "arguments", i.Arguments); err != nil {
			return nil, err
		}
		return next(ctx, &own)
	}
}

// after runs the command on the results of tools.
func (h *hook) after(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		result, err := next(ctx, i)
		if err != nil || i.Kind != string(mcp.KindTool) {
			return result, err
		}
		object, err := h.ask(ctx, i, "after", "result", result.JSON())
		if err != nil {
			return nil, err
		}
		return server.NewResult(object), nil
	}
}

// ask runs the command on a value and returns what has become of it. The command's stderr goes to
// the log, not to the client.
func (h *hook) ask(ctx context.Context, i *dispatch.Invocation, phase, name string,
	value json.RawMessage) (json.RawMessage, error) {
	value, err := h.call(ctx, i, phase, name, value)
	if _, denied := errors.AsType[denial](err); err == nil || denied || ctx.Err() != nil {
		return value, err
	}
	h.log.Warn("a hook failed; the call is refused", slog.String("phase", phase),
		slog.String("server", i.Server), slog.String("tool", i.Name), slog.Any("error", err))
	return nil, fmt.Errorf("the hook %q failed: %w", h.words[0], err)
}

func (h *hook) call(ctx context.Context, i *dispatch.Invocation, phase, name string,
	value json.RawMessage) (json.RawMessage, error) {
	message := struct {
		Phase     string          `json:"phase"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Result    json.RawMessage `json:"result,omitempty"`
	}{Phase: phase, Server: i.Server, Tool: i.Name}
	if phase == "before" {
		message.Arguments = value
	} else {
		message.Result = value
	}
	text, err := mcp.Marshal(message)
	if err != nil {
		return nil, err
	}
	answer, err := h.run(ctx, i.Principal, append(text, '\n'))
	if err != nil {
		return nil, err
	}
	return applyAnswer(answer, name, value)
}

// applyAnswer returns the value of this name after the answer of the command. An unknown answer is
// an error, because it may have been meant to refuse the call.
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
	for token, member := range jsonscan.Members(answer) {
		key, _ := jsonscan.Text(token)
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

// run runs the command and returns its output. It may return before a killed process has exited.
func (h *hook) run(ctx context.Context, principal string, input []byte) ([]byte, error) {
	if err := h.running.Wait(ctx, principal, 1); err != nil {
		return nil, err
	}
	defer h.running.Give(principal, 1)
	timed, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	answer, stderr, err := guard.Run(timed, guard.Command{Name: h.words[0], Args: h.words[1:],
		Env: child.WithoutCredentials(os.Environ())}, input, maxAnswer, maxStderr)
	if text := strings.TrimSpace(string(stderr)); text != "" {
		h.log.Info("a hook wrote to stderr", slog.String("command", h.words[0]),
			slog.String("stderr", printable.Text(text)))
	}
	if err != nil {
		return nil, h.timeoutError(ctx, timed, err)
	}
	return answer, nil
}

// timeoutError returns the error of ctx, a timeout error if timed has ended, or err.
func (h *hook) timeoutError(ctx, timed context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case timed.Err() != nil:
		return fmt.Errorf("it did not answer within %v", h.timeout)
	}
	return err
}
