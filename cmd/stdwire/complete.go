package main

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/completion"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/serve"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// completeCommand is the first argument with which the scripts of stdwire completion run this
// program. It is in no help.
const completeCommand = "__complete"

// complete prints the candidates for the last of words, and nothing if that fails or takes too
// long.
func complete(ctx context.Context, words []string, std *term.Streams) {
	if len(words) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, completion.Timeout)
	defer cancel()
	completion.Print(ctx, std, words, func(ctx context.Context) []completion.Candidate {
		all := completion.Complete(ctx, commands(), words)
		if words[0] == "run" && len(words) > 1 {
			all = append(all, completeRun(ctx, words)...)
		}
		return all
	})
}

// completeRun returns the candidates for an operation of stdwire run and its flags.
func completeRun(ctx context.Context, words []string) (all []completion.Candidate) {
	var out bytes.Buffer
	std := &term.Streams{In: strings.NewReader(""), Out: term.NewOutput(&out, term.Display{}),
		Err: &term.Console{W: io.Discard}}
	b, f := new(target.BuiltinFlags), new(serve.ServerOperations)
	words = completionWords(b, f, append([]string{completeCommand}, words...))
	if runOperation(ctx, std, b, f, words) != nil || std.Out.Flush() != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		word, doc, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, completion.Candidate{Word: word, Doc: doc})
	}
	return all
}
