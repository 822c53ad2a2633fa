package tapcmd

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

func tapMockCommand() command.Command {
	return command.Command{
		Name: "tap mock", Usage: "FILE", Summary: "play the server of a recording",
		Help: `Is an MCP server on stdin and stdout that answers as the server in a recording did, so that a
client can be tested without that server. A request gets the answer to the recorded request with
the same method and params. The id, _meta, requestState, empty arguments, the order of members and
white space do not matter; of initialize, only the protocolVersion matters, and not if the recording
has no other. Equal requests get their answers in recorded order, and after the last one the last
again; but tools/call is answered only as often as it was recorded. ping is always answered.

Before an answer come the notifications and questions that the server sent meanwhile, or after the
answer and before the next message of the client. The answer waits for answers to questions if it
did in the recording, whatever they are. Progress is sent to a client that asks for it. Nothing
waits for the time that the server took. A request that the server did not answer is not answered.

A request that is not in the recording gets an error that names the nearest one, which is also a
line on stderr; the exit code is then 1. A missing server/discover is not an error if the recording
is of an older revision. At the end a note on stderr names recorded requests that were not sent.

In a recording made with --redact, values that it replaced match by their type and length, and what
it replaced in answers is sent as it is in the recording.

  stdwire call echo text=hi -- stdwire tap mock talk.jsonl`,
		Make: func() (command.Grammar, command.Runner) {
			var file recordingFile
			return command.Grammar{Word: file.word},
				func(ctx context.Context, std *term.Streams) error { return mock(ctx, std, &file) }
		},
	}
}

func mock(ctx context.Context, std *term.Streams, file *recordingFile) error {
	if file.name == "-" {
		return command.Usagef("the recording must be a file: stdin is for the client")
	}
	var misses atomic.Int64
	m := tap.Mock{OnMiss: func(message string) {
		if misses.Add(1) <= maxListed {
			std.Err.Printf("stdwire: tap mock: %s", message)
		}
	}}
	if err := file.each(std, func(r *tap.Record, _ []byte) error {
		if err := m.Add(r); err != nil {
			return file.failure(err)
		}
		return nil
	}); err != nil {
		return err
	}
	err := m.Serve(ctx, rpc.Stdio())
	if more := misses.Load() - maxListed; more > 0 {
		std.Err.Printf("stdwire: tap mock: %d more requests are not in the recording", more)
	}
	if unused, of := m.Unused(); len(unused) > 0 {
		std.Err.Printf("note: the client did not send %d of %d recorded requests: %s", len(unused),
			of, unusedText(unused))
	}
	if err == nil && misses.Load() > 0 {
		return command.ExitStatus(1)
	}
	return err
}

// unusedText names the first requests.
func unusedText(unused []tap.Message) string {
	const most = 5
	var all []string
	for _, m := range unused[:min(len(unused), most)] {
		words := strings.TrimSpace(m.Method + " " + m.Subject)
		all = append(all, fmt.Sprintf("%s (frame %d)",
			printable.TruncateRunes(printable.Line(words), 60), m.RequestFrame))
	}
	text := strings.Join(all, ", ")
	if more := len(unused) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
