package lineedit

import (
	"context"
	"errors"
)

// errAside ends the reading of a line that is to be read on later.
var errAside = errors.New("put aside")

// Suspend puts aside the line that ReadLine is reading, as soon as nothing is typed for a moment,
// and keeps ReadLine from reading until resume is called: for a question that comes between, whose
// answers [Editor.Ask] reads. Then the line is there again, with the cursor where it was. Where
// lines are not edited, what has been typed of one is dropped. Suspend blocks until it is its turn,
// or ctx ends, which is its only error.
func (e *Editor) Suspend(ctx context.Context) (resume func(), err error) {
	e.suspending.Add(1)
	defer e.suspending.Add(-1)
	select {
	case e.nudge <- struct{}{}:
	default:
	}
	if err := e.acquire(ctx); err != nil {
		return nil, err
	}
	e.pending = nil // what was typed before the question is no answer
	return e.release, nil
}

// Ask reads a line as ReadLine does, but for completion and history. It must be called only between
// Suspend and resume.
func (e *Editor) Ask(ctx context.Context, prompt string) (string, error) {
	if e.tty == nil {
		return e.plain.answer(ctx, prompt)
	}
	return e.edit(ctx, &entry{prompt: prompt, history: new(History)}, false)
}

// acquire waits for the turn to read.
func (e *Editor) acquire(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release hands the turn to whoever has waited for it longest.
func (e *Editor) release() { <-e.turn }

// wanted reports whether a call of Suspend waits for its turn.
func (e *Editor) wanted() bool { return e.suspending.Load() > 0 }
