package tapcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/printable"
)

func tapReplayCommand() command.Command {
	return command.Command{
		Name:    "tap replay",
		Usage:   "FILE [--ignore NAME]… [--timeout DURATION] [-o text|json] -- SERVER-COMMAND…",
		Summary: "send a recording to a server and compare the answers",
		Help: `Sends the messages of the client in a recording to a server, in the same order and with the same
ids, each after the answers that came before it in the recording. It prints the differences of
results and errors: ~ changed, - missing, + new. The exit code is 10 if there is a difference.

  stdwire tap replay talk.jsonl --ignore modified --ignore _meta -- ./my-server`,
		Make: func() (command.Grammar, command.Runner) {
			r := &replayRun{timeout: time.Minute}
			return command.Grammar{Word: command.Arguments(&r.file.name),
				Command: func(words []string) { r.words = words }, Flags: []command.Flag{
					command.FormatFlag(&r.output, "text", "json"),
					{Name: "--ignore", Value: "NAME", Many: true,
						Help: "do not compare members with this name, at any depth",
						Set: func(value string) error {
							r.ignore = append(r.ignore, value)
							return nil
						}},
					command.DurationFlag(&r.timeout, "--timeout",
						"how long to wait for each answer"),
				}}, r.run
		},
	}
}

// A replayRun holds the options of stdwire tap replay and its counts.
type replayRun struct {
	file    recordingFile
	words   []string
	ignore  []string
	timeout time.Duration
	output  string

	answers, different, missing int
}

func (r *replayRun) run(ctx context.Context, std *term.Streams) error {
	if r.words == nil {
		return command.Usagef("which server?").WithHint(
			"its command follows --: stdwire tap replay talk.jsonl -- COMMAND…")
	}
	file, err := r.file.open(std)
	if err != nil {
		return err
	}
	defer file.Close()
	server := filepath.Base(r.words[0])
	p, err := child.Start(ctx,
		child.Config{Command: r.words[0], Args: r.words[1:], InheritEnv: []string{"*"},
			Start: std.Servers.Start})
	if err != nil {
		return &command.Failure{Code: "spawn_failed", Server: server, What: "start",
			Why: err.Error()}
	}
	defer p.Close()
	// it unblocks reads and writes of the replay
	stop := context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) })
	defer stop()
	if r.timeout < 0 {
		r.timeout = math.MaxInt64
	}
	replay := tap.Replay{Timeout: r.timeout, Ignore: r.ignore,
		OnComparison: func(a tap.Comparison) { r.printAnswer(std, &a) }}
	err = replay.Run(ctx, tap.NewReader(file), p.Stdin(), p.Stdout())
	if errors.Is(err, tap.ErrTruncated) {
		std.Err.Printf("note: %s: %v", r.file.name, err)
		err = nil
	}
	_ = p.Close()
	return r.result(std, server, err, p)
}

// result prints the summary and returns the failure, if any.
func (r *replayRun) result(std *term.Streams, server string, err error, p *child.Process) error {
	if r.output == "text" && (err == nil || r.answers > 0) {
		std.Out.Print(fmt.Sprintf("%d answers: %d the same, %d different, %d missing\n", r.answers,
			r.answers-r.different-r.missing, r.different, r.missing))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, tap.ErrServerEnded):
		return &command.Failure{Code: "server_died", Server: server, What: "replay",
			Why: p.Wait().Error(), Stderr: p.StderrTail()}
	case errors.Is(err, tap.ErrTooManyMissing), errors.Is(err, tap.ErrNotReading):
		f := &command.Failure{Code: "call_timeout", Server: server, What: "replay",
			Why: err.Error(), Stderr: p.StderrTail()}
		return f.WithHint("it may need longer: --timeout 5m")
	case err != nil:
		return r.file.failure(err)
	case r.different+r.missing > 0:
		return &command.Failure{Code: "findings", Server: server, What: "replay",
			Why: fmt.Sprintf("%d of %d answers differ from the recording", r.different+r.missing,
				r.answers)}
	}
	return nil
}

// printAnswer prints an answer. As text, it prints only those that differ.
func (r *replayRun) printAnswer(std *term.Streams, a *tap.Comparison) {
	r.answers++
	if a.Missing {
		r.missing++
	} else if !a.IsSame() {
		r.different++
	}
	if r.output == "json" {
		std.Out.PrintJSON(answerJSON(a))
		return
	}
	if a.IsSame() {
		return
	}
	words := strings.Join(strings.Fields(fmt.Sprintf("%s %s", a.Message.Method, a.Message.Subject)),
		" ")
	std.Out.Print(printable.Line(
		fmt.Sprintf("#%s %s (frame %d)", printable.TruncateRunes(string(a.Message.ID), 40), words,
			a.N)) + "\n")
	switch {
	case a.Missing && a.Message.Type == tap.Request:
		std.Out.PrintDiff("  - the server did not ask\n")
	case a.Missing:
		std.Out.PrintDiff("  - no answer\n")
	}
	const most = 1000 // characters of a value; -o json has all of them
	for _, change := range a.Changes {
		std.Out.PrintDiff("  " + change.Short(most) + "\n")
	}
}

func answerJSON(a *tap.Comparison) []byte {
	type change struct {
		Path string `json:"path"`
		Old  string `json:"old,omitempty"` // JSON in a string; omitted if absent
		New  string `json:"new,omitempty"`
	}
	changes := []change{}
	for _, c := range a.Changes {
		changes = append(changes, change{c.Path, c.Old, c.New})
	}
	text, _ := json.Marshal(struct { // an id was read as JSON
		N       int64           `json:"n"`
		Method  string          `json:"method"`
		About   string          `json:"about,omitempty"`
		ID      json.RawMessage `json:"id"`
		Missing bool            `json:"missing"`
		Changes []change        `json:"changes"`
	}{a.N, a.Message.Method, a.Message.Subject, a.Message.ID, a.Missing, changes})
	return text
}
