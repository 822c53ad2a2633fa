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
		Name: "tap mock", Usage: "FILE", Summary: "act as the server of a recording",
		Help: `Serves on stdin and stdout what a server answered in a recording, so that a client can be tested
without the server. A request gets the answer to the recorded request with the same method and
params. Ids, _meta, requestState, empty arguments, white space and the order of members are not
compared. Of the params of initialize only protocolVersion is compared, if the recording has
several. Equal requests get their answers in recorded order. After that the last answer is repeated,
except that a tools/call is answered only as often as in the recording. ping is always answered.

Before an answer the client gets the notifications and questions that the server sent during the
request, or after it and before the client's next message. The answer waits until the client has
answered the questions, with any content. Since revision 2026-07-28 these answers are params, which
must be the same as in the recording. Progress is sent if the client asks for it. Recorded delays
are not repeated. A request that has no answer in the recording gets none.

A request that is not in the recording gets an error that names the nearest one. The error is also
printed on stderr, and the exit code is 1. server/discover may be missing in a recording that has an
initialize. At the end a note on stderr lists recorded requests that the client did not send.

In a recording made with --redact, replaced values of requests match by type and length, and
replaced values of answers are sent as they are in the file.

  stdwire call fs_list -- stdwire tap mock talk.jsonl`,
		Make: func() (command.Grammar, command.Runner) {
			var file recordingFile
			return command.Grammar{Word: command.Arguments(&file.name)},
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
func unusedText(unused []tap.UnusedRequest) string {
	const most = 5
	var all []string
	for _, m := range unused[:min(len(unused), most)] {
		words := strings.TrimSpace(m.Method + " " + m.Subject)
		all = append(all, fmt.Sprintf("%s (frame %d)",
			printable.TruncateRunes(printable.Line(words), 60), m.N))
	}
	text := strings.Join(all, ", ")
	if more := len(unused) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
