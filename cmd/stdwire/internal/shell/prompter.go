package shell

import (
	"context"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/internal/printable"
)

// A shellPrompter suspends the editor to ask the user questions, and reads the answers with it.
type shellPrompter struct{ shell *Shell }

func (p *shellPrompter) Begin(ctx context.Context) (end func(), err error) {
	resume, err := p.shell.editor.Suspend(ctx)
	if err != nil {
		return nil, err
	}
	p.shell.Std.DiscardInput()
	showStatus := p.shell.Std.Err.HideStatus()
	return func() {
		showStatus()
		resume()
	}, nil
}

// Line implements [term.Prompter]. Ctrl-C leaves the question unanswered and cancels the running
// line.
func (p *shellPrompter) Line(ctx context.Context, prompt string) (string, error) {
	text, err := p.shell.editor.Ask(ctx, printable.Line(prompt)+" ")
	if err == lineedit.ErrInterrupted {
		if cancel := p.shell.cancel.Load(); cancel != nil {
			(*cancel)(errCancelled)
		}
		err = elicit.ErrDropped
	}
	return text, err
}
