package hook

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxProcesses = 32      // concurrent processes of one hook
	maxStderr    = 4 << 10 // bytes of stderr that are logged
)

// newProcess returns a hook that runs a command for each call. The command reads the message from
// stdin, up to its end, and writes the answer to stdout.
func newProcess(words []string, log *slog.Logger) *hook {
	c := commandOf(words)
	return &hook{name: c.Name, log: log, timeout: timeout, running: quota.NewPool(maxProcesses),
		ask: func(ctx context.Context, m *message) ([]byte, error) {
			text, err := mcp.Marshal(m)
			if err != nil {
				return nil, err
			}
			return run(ctx, c, append(text, '\n'), log)
		}}
}

// commandOf returns the command of a hook, which gets the variables of this program.
func commandOf(words []string) guard.Command {
	return guard.Command{Name: words[0], Args: words[1:],
		Env: child.WithoutCredentials(os.Environ())}
}

// run runs a command and returns its output. Its stderr goes to the log, not to the client. It may
// return before a killed process has exited.
func run(ctx context.Context, c guard.Command, input []byte, log *slog.Logger) ([]byte, error) {
	answer, stderr, err := guard.Run(ctx, c, input, maxAnswer, maxStderr)
	if text := strings.TrimSpace(string(stderr)); text != "" {
		logStderr(log, c.Name, text)
	}
	return answer, err
}

func logStderr(log *slog.Logger, name, text string) {
	log.Info("a hook wrote to stderr", slog.String("command", name),
		slog.String("stderr", printable.Text(text)))
}
