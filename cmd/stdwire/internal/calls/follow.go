package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TimeoutFlag is the flag --timeout.
func TimeoutFlag(timeout *time.Duration) command.Flag {
	*timeout = 5 * time.Minute
	f := command.DurationFlag(timeout, "--timeout", "how long to wait for the result, or for progress")
	*timeout = 0 // unless it is given it is up to the client, or to the configuration
	return f
}

// A following shows on stderr what goes on until a result is there: on a terminal in one line that
// goes away again, or all of it, line by line with times; so always on a terminal where no line
// goes away.
type following struct {
	std     *term.Streams
	what    string // is waited for
	inLines bool
}

// through sends a request with the options by which to hear of its progress. What was interrupted
// has no result, also if that has come at the same moment: perhaps because a question was left
// without an answer.
func (f following) through(ctx context.Context, send func(progress ...client.CallOption) (json.RawMessage, error)) (json.RawMessage, error) {
	result, err := f.follow(send)
	if err == nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return result, err
}

func (f following) follow(send func(progress ...client.CallOption) (json.RawMessage, error)) (json.RawMessage, error) {
	if f.inLines || f.std.Err.Dumb {
		return send(hearing(func(text string) { timedLine(f.std, text) })...)
	}
	var latest atomic.Value // string
	latest.Store("waiting")
	const patience = 3 * time.Second
	stop := f.std.Err.StatusAfter(patience, func(elapsed time.Duration) string {
		return fmt.Sprintf("%s: %s %s", f.what, elapsed.Round(time.Second), latest.Load())
	})
	defer stop()
	return send(hearing(func(text string) {
		latest.Store(text)
		f.std.Err.Status(f.what + ": " + text)
	})...)
}

// hearing has show called with all progress: of a call, and of the task that it may become.
func hearing(show func(text string)) []client.CallOption {
	return []client.CallOption{
		client.OnProgress(func(p mcp.ProgressParams) { show(progressText(p)) }),
		client.OnTask(func(t mcp.Task) { show(command.JoinNonEmpty(": ", "task "+string(t.Status), t.StatusMessage)) }),
	}
}

// progressText shows progress: 40% of what is known to end, or else how much there is.
func progressText(p mcp.ProgressParams) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total != nil && *p.Total > 0 {
		text = fmt.Sprintf("%.0f%%", 100*p.Progress / *p.Total)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return text
}

// logLines prints a server's log messages.
func logLines(std *term.Streams) func(mcp.LoggingMessageParams) {
	return func(m mcp.LoggingMessageParams) {
		text := string(m.Data)
		if unquoted, ok := jsonscan.Text(m.Data); ok {
			text = unquoted
		}
		if m.Logger != "" {
			text = m.Logger + ": " + text
		}
		timedLine(std, string(m.Level)+" "+text)
	}
}

// timedLine prints a line with the time of day.
func timedLine(std *term.Streams, text string) {
	std.Err.Printf("%s %s", time.Now().Format(time.TimeOnly), printable.Line(text))
}
