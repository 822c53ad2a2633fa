// Package elicit asks the person at the terminal the questions of a server: by forms, field by
// field, by web pages, after consent, and in place of a model. Secrets are not asked for.
package elicit

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Asker answers the elicitation and sampling requests of a server (2026-07-28, Elicitation,
// Sampling). It asks one question at a time.
type Asker struct {
	server   string // its name in messages
	console  *term.Console
	prompter term.Prompter
	browse   func(url string) error // opens a web page in the browser
}

// NewAsker returns an Asker for the questions of server.
func NewAsker(server string, console *term.Console, p term.Prompter) *Asker {
	return &Asker{server: server, console: console, prompter: p, browse: Browse}
}

// Answer sets the callbacks of o for elicitation and sampling requests. A question ends with the
// context of its call, or else of the connection.
func (a *Asker) Answer(o *client.Options) {
	o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
	o.OnElicit, o.OnSample = a.elicit, a.sample
}

var (
	errDeclined = errors.New("declined")
	// ErrDropped means that the user has left a question without an answer.
	ErrDropped = errors.New("left without an answer")
)

// elicit asks a question. Cancelling is an answer, not an error.
func (a *Asker) elicit(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
	end, err := a.prompter.Begin(ctx)
	if err != nil {
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	defer end()
	var content []byte
	if params.Mode == mcp.ElicitURL {
		err = a.askToOpen(ctx, params)
	} else {
		content, err = a.askForm(ctx, params)
	}
	switch {
	case err == nil:
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
	case err == errDeclined:
		a.console.Printf("Declined.")
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	case err != ErrDropped && err != io.EOF && ctx.Err() == nil:
		a.console.Printf("Cancelled: %v", err)
	default:
		a.console.Printf("Cancelled.")
	}
	return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
}

const (
	declineWord = ".decline"
	cancelWord  = ".cancel"
	skipWord    = ".skip"
)

// ask reads one line. The error is one of those above, or that of [term.Prompter.Line].
func (a *Asker) ask(ctx context.Context, prompt string) (string, error) {
	text, err := a.prompter.Line(ctx, prompt)
	switch strings.TrimSpace(text) {
	case declineWord:
		err = errDeclined
	case cancelWord:
		err = ErrDropped
	}
	return text, err
}

// askChoice asks until the answer is one of words or its first letter, and returns that letter. An
// empty line means fallback, unless that is 0.
func (a *Asker) askChoice(ctx context.Context, prompt string, fallback byte, words ...string) (byte,
	error) {
	for {
		text, err := a.ask(ctx, prompt)
		if err != nil {
			return 0, err
		}
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" && fallback != 0 {
			return fallback, nil
		}
		for _, word := range words {
			if text == word || text == word[:1] {
				return word[0], nil
			}
		}
		a.console.Printf("Please answer %s.", strings.Join(words, " or "))
	}
}

// printRequest prints who asks and why. The text of the server is indented, so that it cannot be
// mistaken for a message of this program.
func (a *Asker) printRequest(what, message string) {
	a.console.Printf("%s %s:", printable.Line(a.server), what)
	a.printQuoted(message)
}

func (a *Asker) printQuoted(text string) {
	const maxRunes = 4000
	for line := range strings.SplitSeq(
		printable.TruncateRunes(strings.TrimSpace(printable.Text(text)), maxRunes), "\n") {
		a.console.Printf("  %s", line)
	}
}
