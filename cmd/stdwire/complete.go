package main

import (
	"context"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/completion"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/runcmd"
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
			all = append(all, runcmd.Complete(ctx, words)...)
		}
		return all
	})
}
