package tapcmd

import (
	"context"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func tapTracesCommand() command.Command {
	return command.Command{
		Name: "tap traces", Usage: "FILE", Summary: "convert a recording to OpenTelemetry traces",
		Help: `Prints the requests of a recording as one ExportTraceServiceRequest of OTLP in JSON, the body of a
POST to the /v1/traces of a collector. Each request is a span that lasts until its answer. Its kind
is CLIENT if the client sent the request, and SERVER if the server did. stdwire help telemetry
explains names and attributes. Notifications, arguments and results are left out.

A request with a traceparent belongs to its trace. All others belong to one trace, whose id is
derived from the recording: the same recording always gives the same bytes. A request without an
answer lasts until it was cancelled or the recording ends; its error.type is cancelled,
connection_closed, or _OTHER if the recording lacks its end or other frames. A recording made with
--redact has no traceparents.

  stdwire tap traces talk.jsonl |
    curl -H 'Content-Type: application/json' -d @- \
    http://localhost:4318/v1/traces`,
		Make: func() (command.Grammar, command.Runner) {
			var file recordingFile
			return command.Grammar{Word: command.Arguments(&file.name)},
				func(_ context.Context, std *term.Streams) error {
					traces := tap.NewTraces(untrustedWriter{std.Out})
					if err := file.each(std, func(r *tap.Record, _ []byte) error {
						return traces.Add(r)
					}); err != nil {
						return err
					}
					err := traces.Close()
					std.Out.Print("\n")
					return err
				}
		},
	}
}

// An untrustedWriter prints whole texts with parts of a server.
type untrustedWriter struct{ out *term.Output }

func (w untrustedWriter) Write(p []byte) (int, error) {
	w.out.PrintUntrusted(string(p))
	if _, err := w.out.Write(nil); err != nil { // the reader of stdout has closed it
		return 0, &term.OutputError{Err: err}
	}
	return len(p), nil
}
