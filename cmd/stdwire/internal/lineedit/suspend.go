package lineedit

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/internal/wake"
)

// errSuspended ends the reading of a line that continues later.
var errSuspended = errors.New("the editor is suspended")

// Suspend interrupts ReadLine as soon as no key comes for a moment, and keeps ReadLine from reading
// until resume is called. Meanwhile [Editor.Ask] can ask the user a question. ReadLine then shows
// the line again, with the cursor at its position; without editing, the part of a line typed before
// Suspend is dropped. Suspend blocks until it has interrupted ReadLine, or until ctx ends; the
// error is the cause of ctx.
func (e *Editor) Suspend(ctx context.Context) (resume func(), err error) {
	e.suspending.Add(1)
	defer e.suspending.Add(-1)
	wake.Up(e.suspendRequest)
	if err := e.acquire(ctx); err != nil {
		return nil, err
	}
	e.pending = nil // input before the question is not an answer
	return e.release, nil
}

// Ask reads a line as ReadLine does, without completion and history. It must be called only between
// Suspend and resume.
func (e *Editor) Ask(ctx context.Context, prompt string) (string, error) {
	if e.tty == nil {
		return e.plain.readAnswer(ctx, prompt)
	}
	return e.edit(ctx, &entry{prompt: prompt, history: new(History)}, false)
}

// acquire waits for turn.
func (e *Editor) acquire(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release passes turn to the longest-waiting caller of acquire.
func (e *Editor) release() { <-e.turn }

// suspendRequested reports whether a call of Suspend waits for turn.
func (e *Editor) suspendRequested() bool { return e.suspending.Load() > 0 }
