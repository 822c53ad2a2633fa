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

// An asker asks whoever sits at the terminal what a server wants to know (2026-07-28, Elicitation): one question at a time, whoever asks how many.
type asker struct {
	server  string // as the user knows it
	console *term.Console
	term.Prompter
	browse func(url string) error // shows a web page, outside of this program
}

func NewAsker(server string, console *term.Console, p term.Prompter) *asker {
	return &asker{server: server, console: console, Prompter: p, browse: Browse}
}

// Answer has a client with these options ask. A question ends with its own context: that of the
// call that it belongs to, or else of the connection.
func (a *asker) Answer(o *client.Options) {
	o.ElicitModes = []string{mcp.ElicitForm, mcp.ElicitURL}
	o.OnElicit = a.elicit
}

var (
	errDeclined = errors.New("declined")
	ErrDropped  = errors.New("left without an answer")
)

// elicit asks a question. There is no error: who goes away has cancelled.
func (a *asker) elicit(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
	end, err := a.Begin(ctx)
	if err != nil {
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	defer end()
	var content []byte
	if params.Mode == mcp.ElicitURL {
		err = a.page(ctx, params)
	} else {
		content, err = a.form(ctx, params)
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

// ask reads one answer. The error is one of the ways out, or that of line.
func (a *asker) ask(ctx context.Context, prompt string) (string, error) {
	text, err := a.Line(ctx, prompt)
	switch strings.TrimSpace(text) {
	case declineWord:
		err = errDeclined
	case cancelWord:
		err = ErrDropped
	}
	return text, err
}

// choose asks until the answer is one of the words, or its first letter, and returns that letter. An empty line is fallback, if that is not 0.
func (a *asker) choose(ctx context.Context, prompt string, fallback byte, words ...string) (byte, error) {
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

// introduce says who asks and why. What is the server's stands indented, so that it cannot pass for what this program says.
func (a *asker) introduce(what, message string) {
	a.console.Printf("%s %s:", printable.Line(a.server), what)
	a.quote(message)
}

func (a *asker) quote(text string) {
	const most = 4000 // characters
	for line := range strings.SplitSeq(printable.TruncateRunes(strings.TrimSpace(printable.Text(text)), most), "\n") {
		a.console.Printf("  %s", line)
	}
}
