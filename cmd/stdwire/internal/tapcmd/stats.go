package tapcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

func tapStatsCommand() command.Command {
	return command.Command{
		Name: "tap stats", Usage: "FILE [-o text|json]",
		Summary: "count the messages of a recording",
		Help: `Prints for each method the number of calls and of errors (isError included), the latencies and
the bytes in each direction; then requests without an answer, responses to no request, and invalid
messages.`,
		Make: func() (command.Grammar, command.Runner) {
			var file recordingFile
			var output string
			return command.Grammar{Word: command.Arguments(&file.name),
					Flags: []command.Flag{command.FormatFlag(&output, "text", "json")}},
				func(_ context.Context, std *term.Streams) error {
					var stats tap.Stats
					if err := file.each(std, func(r *tap.Record, _ []byte) error {
						stats.Add(r)
						return nil
					}); err != nil {
						return err
					}
					report := stats.Report()
					if output == "json" {
						return std.Out.PrintValue(report)
					}
					std.Out.Print(statsText(&report))
					return nil
				}
		},
	}
}

// maxListed is the number of anomalies that are listed as text.
const maxListed = 20

func statsText(r *tap.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.3f s, → %d frames, %s, ← %d frames, %s", r.Seconds, r.Client.Frames,
		command.Size(int(r.Client.Bytes)), r.Server.Frames, command.Size(int(r.Server.Bytes)))
	if r.Status != nil {
		fmt.Fprintf(&b, ", exit status %d", *r.Status)
	}
	fmt.Fprintf(&b, "\n\n%-36s%8s%8s%10s%10s%10s%11s%11s\n", "", "count", "errors", "p50 ms",
		"p95 ms", "max ms", "bytes", "answers")
	for _, m := range r.Methods {
		fmt.Fprintf(&b, "%-36s%8d", arrowOf(m.From)+" "+
			printable.TruncateRunes(printable.Line(m.Name), 33), m.Count)
		if m.Answered > 0 {
			fmt.Fprintf(&b, "%8d%10.2f%10.2f%10.2f%11d%11d\n", m.Errors, m.P50Ms, m.P95Ms, m.MaxMs,
				m.Bytes, m.Answers)
		} else {
			fmt.Fprintf(&b, "%8s%10s%10s%10s%11d\n", "", "", "", "", m.Bytes)
		}
	}
	list(&b, "requests without an answer", r.Unanswered, func(u tap.UnansweredRequest) string {
		line := fmt.Sprintf("%s #%s %s (frame %d)", arrowOf(u.From),
			printable.TruncateRunes(string(u.ID), 40), u.Method, u.N)
		if u.Cancelled {
			line += ", cancelled"
		}
		return line
	})
	list(&b, "answers to nothing", r.Unmatched, func(u tap.UnmatchedResponse) string {
		return fmt.Sprintf("%s #%s %s (frame %d)", arrowOf(u.From),
			printable.TruncateRunes(string(u.ID), 40), u.Failed, u.N)
	})
	if r.OtherIDs > 0 {
		fmt.Fprintf(&b, "\nanswers with the id of their request in another notation, such as \"1\" for 1: %d\n",
			r.OtherIDs)
	}
	if junk := r.Client.Junk + r.Server.Junk; junk > 0 {
		fmt.Fprintf(&b, "\nno messages: → %d, ← %d\n", r.Client.Junk, r.Server.Junk)
	}
	if r.Missing > 0 {
		fmt.Fprintf(&b, "\nnot in the recording: %d frames, which may explain missing and unexpected answers\n",
			r.Missing)
	}
	return b.String()
}

func list[T any](b *strings.Builder, title string, all []T, line func(T) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: %d\n", title, len(all))
	for _, entry := range all[:min(len(all), maxListed)] {
		fmt.Fprintf(b, "  %s\n", printable.Line(line(entry)))
	}
	if more := len(all) - maxListed; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

func arrowOf(from tap.Direction) string {
	if from == tap.FromServer {
		return "←"
	}
	return "→"
}
