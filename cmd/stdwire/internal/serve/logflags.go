package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// logFlags are the flags for the log on stderr.
type logFlags struct{ format, level string }

func (l *logFlags) flags() []command.Flag {
	return []command.Flag{
		command.ChoiceFlag(&l.format, "--log-format",
			"how to write the log; with json, all lines on stderr are JSON (default text)", "text",
			"json"),
		command.ChoiceFlag(&l.level, "--log-level", "the least level that is logged (default info)",
			"debug", "info", "warn", "error"),
	}
}

// open returns the log. In the format json, it makes std.Err write its lines to the log; these have
// no level to select them by, and are always written. failed is called when the command ends.
func (l *logFlags) open(std *term.Streams) (log *slog.Logger, failed func(error)) {
	var level slog.Level
	if l.level != "" {
		_ = level.UnmarshalText([]byte(l.level)) // it is one of the choices
	}
	options := &slog.HandlerOptions{Level: level}
	if l.format != "json" {
		return slog.New(slog.NewTextHandler(std.Err, options)), func(error) {}
	}
	handler := slog.NewJSONHandler(std.Err.W, options)
	lines := &lineLog{handler: handler}
	std.Err = &term.Console{W: lines}
	return slog.New(handler), lines.failed
}

// maxLogLine is the size in bytes at which a line without an end is logged.
const maxLogLine = 64 << 10

// A lineLog is a writer that logs each line.
type lineLog struct {
	handler slog.Handler

	mu      sync.Mutex
	level   slog.Level
	partial []byte // a line whose end was not written yet
}

// failed makes an error the level of the lines that explain it.
func (l *lineLog) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.level = slog.LevelError
	}
}

// Write implements [io.Writer].
func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ended := bytes.Cut(l.partial, []byte("\n"))
		if !ended && len(line) < maxLogLine {
			return len(p), nil
		}
		l.partial = bytes.Clone(rest)
		if err := l.log(bytes.TrimSuffix(line, []byte("\r"))); err != nil {
			return 0, err
		}
	}
}

func (l *lineLog) log(line []byte) error {
	level := l.level
	line = bytes.TrimPrefix(line, []byte("stdwire: "))
	if rest, ok := bytes.CutPrefix(line, []byte("warning: ")); ok {
		line, level = rest, max(level, slog.LevelWarn)
	}
	return l.handler.Handle(context.Background(),
		slog.NewRecord(time.Now(), level, string(line), 0))
}

var _ io.Writer = (*lineLog)(nil)
