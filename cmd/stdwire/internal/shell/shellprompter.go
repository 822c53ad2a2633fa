package shell

import (
	"context"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/lineedit"
	"github.com/stdwire/stdwire/internal/printable"
)

// A shellPrompter asks whoever types lines into a shell, also in the middle of one: the editor that
// reads the lines reads the answers.
type shellPrompter struct{ shell *Shell }

func (p *shellPrompter) Begin(ctx context.Context) (end func(), err error) {
	resume, err := p.shell.editor.Suspend(ctx)
	if err != nil {
		return nil, err
	}
	p.shell.Std.DiscardInput()
	shown := p.shell.Std.Err.HideStatus()
	return func() {
		shown()
		resume()
	}, nil
}

// Line is that of a prompter. Ctrl-C leaves the question without an answer, and cancels what is
// running.
func (p *shellPrompter) Line(ctx context.Context, prompt string) (string, error) {
	text, err := p.shell.editor.Ask(ctx, printable.Line(prompt)+" ")
	if err == lineedit.ErrInterrupted {
		if cancel := p.shell.cancel.Load(); cancel != nil {
			(*cancel)(errUnwanted)
		}
		err = elicit.ErrDropped
	}
	return text, err
}
