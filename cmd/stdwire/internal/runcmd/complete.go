package runcmd

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/completion"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// Complete returns the candidates for an operation of stdwire run and its flags.
func Complete(ctx context.Context, words []string) (all []completion.Candidate) {
	var out bytes.Buffer
	std := &term.Streams{In: strings.NewReader(""), Out: term.NewOutput(&out, term.Display{}),
		Err: &term.Console{W: io.Discard}}
	b, f := new(target.BuiltinFlags), new(serverOperations)
	words = completionWords(b, f, append([]string{"__complete"}, words...))
	if runOperation(ctx, std, b, f, words) != nil || std.Out.Flush() != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		word, doc, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, completion.Candidate{Word: word, Doc: doc})
	}
	return all
}
