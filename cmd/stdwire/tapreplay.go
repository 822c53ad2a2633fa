package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/printable"
)

func tapReplayCommand() command {
	return command{
		name: "tap replay", usage: "FILE [--ignore NAME]… [--timeout DURATION] [-o text|json] -- SERVER-COMMAND…",
		summary: "say it all once more to a server, and compare the answers",
		help: `Writes what the client wrote in a recording to a server, in the same order and with the same ids, each when the answers are there that were there before it; and shows in what results and errors are not what they were: ~ what has changed, - what is missing, + what is new, and where. The exit code is 10 if there is a difference.

  stdwire tap replay talk.jsonl --ignore modified --ignore _meta -- ./my-server`,
		make: func() (grammar, runner) {
			r := &replaying{timeout: time.Minute}
			return grammar{word: r.file.word, command: func(words []string) { r.words = words }, flags: []flag{
				format(&r.output, "text", "json"),
				{name: "--ignore", value: "NAME", many: true, help: "members of this name may differ, wherever they are", set: func(value string) error {
					r.ignore = append(r.ignore, value)
					return nil
				}},
				duration(&r.timeout, "--timeout", "how long to wait for each answer"),
			}}, r.run
		},
	}
}

// A replaying is what the command line says of one.
type replaying struct {
	file    recordingFile
	words   []string
	ignore  []string
	timeout time.Duration
	output  string

	answers, different, missing int
}

func (r *replaying) run(ctx context.Context, std *streams) error {
	if r.words == nil {
		return usagef("to which server?").withHint("its command stands behind --: stdwire tap replay talk.jsonl -- COMMAND…")
	}
	file, err := r.file.open(std)
	if err != nil {
		return err
	}
	defer file.Close()
	server := filepath.Base(r.words[0])
	p, err := child.Start(ctx, child.Config{Command: r.words[0], Args: r.words[1:], InheritEnv: []string{"*"}})
	if err != nil {
		return &failure{code: "spawn_failed", server: server, what: "start", why: err.Error()}
	}
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) }) // which ends whatever waits for it
	defer stop()
	if r.timeout < 0 {
		r.timeout = math.MaxInt64
	}
	replay := tap.Replay{Timeout: r.timeout, Ignore: r.ignore, OnComparison: func(a tap.Comparison) { r.answered(std, &a) }}
	err = replay.Run(ctx, tap.NewReader(file), p.Stdin(), p.Stdout())
	if errors.Is(err, tap.ErrTruncated) {
		std.err.printf("note: %s: %v", r.file.name, err)
		err = nil
	}
	_ = p.Close()
	return r.outcome(std, server, err, p)
}

// outcome makes the end of it all.
func (r *replaying) outcome(std *streams, server string, err error, p *child.Process) error {
	if r.output == "text" && (err == nil || r.answers > 0) {
		std.out.print(fmt.Sprintf("%d answers: %d the same, %d different, %d missing\n", r.answers, r.answers-r.different-r.missing, r.different, r.missing))
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, tap.ErrServerEnded):
		return &failure{code: "server_died", server: server, what: "replay", why: p.Wait().Error(), stderr: p.StderrTail()}
	case errors.Is(err, tap.ErrTooManyMissing), errors.Is(err, tap.ErrNotReading):
		f := &failure{code: "call_timeout", server: server, what: "replay", why: err.Error(), stderr: p.StderrTail()}
		return f.withHint("it may need longer: --timeout 5m")
	case err != nil:
		return r.file.bad(err)
	case r.different+r.missing > 0:
		return &failure{code: "findings", server: server, what: "replay", why: fmt.Sprintf("%d of %d answers are not as they were", r.different+r.missing, r.answers)}
	}
	return nil
}

// answered prints what is to say of an answer, which is nothing in text if it is the same.
func (r *replaying) answered(std *streams, a *tap.Comparison) {
	r.answers++
	if a.Missing {
		r.missing++
	} else if !a.IsSame() {
		r.different++
	}
	if r.output == "json" {
		std.out.json(answerJSON(a))
		return
	}
	if a.IsSame() {
		return
	}
	words := strings.Join(strings.Fields(fmt.Sprintf("%s %s", a.Message.Method, a.Message.Subject)), " ")
	std.out.print(printable.Line(fmt.Sprintf("#%s %s (frame %d)", cut(string(a.Message.ID), 40), words, a.N)) + "\n")
	switch {
	case a.Missing && a.Message.Kind == tap.Request:
		std.out.print("  - the server did not ask\n")
	case a.Missing:
		std.out.print("  - no answer\n")
	}
	for _, change := range a.Changes {
		std.out.print("  " + change.String() + "\n")
	}
}

func answerJSON(a *tap.Comparison) []byte {
	type change struct {
		Path string `json:"path"`
		Old  string `json:"old,omitempty"` // JSON as a text; left out if there was nothing
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
