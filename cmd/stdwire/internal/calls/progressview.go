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
	"github.com/stdwire/stdwire/internal/terminal"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TimeoutFlag is the flag --timeout.
func TimeoutFlag(timeout *time.Duration) command.Flag {
	*timeout = 5 * time.Minute
	f := command.DurationFlag(timeout, "--timeout",
		"how long to wait for the result, or for progress")
	*timeout = 0 // without the flag, the client or the configuration decides
	return f
}

// A progressView shows the progress of a request on stderr: as a status, or line by line with times
// if inLines is set or the terminal is dumb.
type progressView struct {
	std     *term.Streams
	what    string // the tool, prompt or resource
	inLines bool
}

// send calls send with the options that report progress. A call that was interrupted has no result
// even if one arrived at the same moment, because a question may have been left unanswered.
func (f progressView) send(ctx context.Context,
	send func(progress ...client.CallOption) (json.RawMessage, error)) (json.RawMessage, error) {
	result, err := f.follow(send)
	if err == nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return result, err
}

func (f progressView) follow(send func(progress ...client.CallOption) (json.RawMessage, error)) (
	json.RawMessage, error) {
	if f.inLines || f.std.Err.Dumb {
		return send(
			progressOptions(progressText, func(text string) { printTimed(f.std, text) })...)
	}
	var latest atomic.Value // string
	latest.Store("waiting")
	const statusDelay = 3 * time.Second
	stop := f.std.Err.StatusAfter(statusDelay, func(elapsed time.Duration) string {
		return fmt.Sprintf("%s: %s %s", f.what, elapsed.Round(time.Second), latest.Load())
	})
	defer stop()
	var meter terminal.Meter
	bar := func(p mcp.ProgressParams) string {
		total := 0.0
		if p.Total != nil {
			total = *p.Total
		}
		return meter.Text(p.Progress, total, p.Message, time.Now(), f.std.Err.Columns().Total())
	}
	return send(progressOptions(bar, func(text string) {
		latest.Store(text)
		f.std.Err.Status(f.what + ": " + text)
	})...)
}

// progressOptions returns the options that call show with each progress of a call, as format
// returns it, and of its task.
func progressOptions(format func(mcp.ProgressParams) string,
	show func(text string)) []client.CallOption {
	return []client.CallOption{
		client.OnProgress(func(p mcp.ProgressParams) { show(format(p)) }),
		client.OnTask(func(t mcp.Task) {
			show("task " + taskText(t))
		}),
	}
}

// progressText formats progress: as 40% if the total is known, else as a number.
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

// logLines returns a function that prints log messages of a server.
func logLines(std *term.Streams) func(mcp.LoggingMessageParams) {
	return func(m mcp.LoggingMessageParams) {
		text := string(m.Data)
		if unquoted, ok := jsonscan.Text(m.Data); ok {
			text = unquoted
		}
		if m.Logger != "" {
			text = m.Logger + ": " + text
		}
		printTimed(std, string(m.Level)+" "+text)
	}
}

// printTimed prints a line with the time of day.
func printTimed(std *term.Streams, text string) {
	std.Err.Printf("%s %s", time.Now().Format(time.TimeOnly), printable.Line(text))
}
