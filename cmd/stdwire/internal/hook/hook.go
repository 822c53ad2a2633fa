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
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
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

// Interceptors returns interceptors that run commands.
func Interceptors(commands [][]string, log *slog.Logger) (all []gateway.Interceptor) {
	for _, words := range commands {
		all = append(all,
			(&hook{words: words, log: log, timeout: timeout,
				running: quota.NewPool(maxRunning)}).intercept)
	}
	return all
}

// A denial is the reason that a command gave for refusing a call.
type denial string

func (d denial) Error() string { return string(d) }

// intercept runs the command. Its stderr goes to the log, not to the client.
func (h *hook) intercept(ctx context.Context, e *gateway.Event) error {
	phase, raw := "before", &e.Arguments
	if e.Result != nil {
		phase, raw = "after", &e.Result
	}
	err := h.call(ctx, phase, e, raw)
	if _, denied := errors.AsType[denial](err); err == nil || denied || ctx.Err() != nil {
		return err
	}
	h.log.Warn("a hook failed; the call is refused", slog.String("phase", phase),
		slog.String("server", e.Server), slog.String("tool", e.Tool), slog.Any("error", err))
	return fmt.Errorf("the hook %q failed: %w", h.words[0], err)
}

func (h *hook) call(ctx context.Context, phase string, e *gateway.Event,
	raw *json.RawMessage) error {
	message := struct {
		Phase     string          `json:"phase"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Result    json.RawMessage `json:"result,omitempty"`
	}{Phase: phase, Server: e.Server, Tool: e.Tool}
	name := "arguments"
	if phase == "before" {
		message.Arguments = *raw
	} else {
		name, message.Result = "result", *raw
	}
	text, err := mcp.Marshal(message)
	if err != nil {
		return err
	}
	answer, err := h.run(ctx, e.Principal, append(text, '\n'))
	if err != nil {
		return err
	}
	return applyAnswer(answer, name, raw)
}

// applyAnswer applies the answer of the command. An unknown answer is an error, because it may have
// been meant to refuse the call.
func applyAnswer(answer []byte, name string, raw *json.RawMessage) error {
	if answer = bytes.TrimSpace(answer); len(answer) == 0 {
		return nil
	}
	if err := jsonscan.Valid(answer); err != nil {
		return fmt.Errorf("its answer is not JSON: %w", err)
	}
	if answer[0] != '{' {
		return errors.New("its answer is not a JSON object")
	}
	members := map[string]json.RawMessage{}
	for token, value := range jsonscan.Members(answer) {
		key, _ := jsonscan.Text(token)
		if _, twice := members[key]; twice || key != "deny" && key != name {
			return fmt.Errorf("its answer must have one member, %s or deny, and has %.40q", name,
				key)
		}
		members[key] = value
	}
	if deny, ok := members["deny"]; ok {
		reason, ok := jsonscan.Text(deny)
		if !ok {
			return errors.New("the deny of its answer is not a string")
		}
		return denial(cmp.Or(reason, "the hook gives no reason"))
	}
	if value, ok := members[name]; ok {
		*raw = value // which the gateway checks
	}
	return nil
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
