package proc

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/dispatch"
)

// scripts limits the number of running scripts, and can end all of them.
type scripts struct {
	slots  chan struct{}   // has a value for each running script
	ctx    context.Context // ends at shutdown
	cancel context.CancelFunc

	shutdownMu sync.Mutex // held by the call of shutdown that fills slots
}

func newScripts(limit int) *scripts {
	ctx, cancel := context.WithCancel(context.Background())
	return &scripts{slots: make(chan struct{}, limit), ctx: ctx, cancel: cancel}
}

// begin returns a context for a script, which ends with ctx or at shutdown. The caller must call
// done when the script has ended.
func (s *scripts) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	acquired := false
	select {
	case s.slots <- struct{}{}:
		acquired = true
	default:
	}
	err = s.ended() // checked while holding a slot, for which shutdown waits
	switch {
	case err != nil && acquired:
		<-s.slots
	case err == nil && !acquired:
		err = dispatch.Errorf(dispatch.StateError,
			"%d scripts are running, the maximum; try again when one has ended", cap(s.slots))
	}
	if err != nil {
		return nil, nil, err
	}
	run, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return run, func() {
		stop()
		cancel()
		<-s.slots
	}, nil
}

// ended returns an error after shutdown has begun.
func (s *scripts) ended() error {
	if s.ctx.Err() != nil {
		return dispatch.Errorf(dispatch.StateError,
			"scripts cannot run: the program is shutting down")
	}
	return nil
}

// shutdown ends all scripts and blocks until their calls have returned, which takes no longer than
// killing a process. No script can begin afterwards.
func (s *scripts) shutdown() {
	s.cancel()
	s.shutdownMu.Lock()
	defer s.shutdownMu.Unlock()
	for range cap(s.slots) {
		s.slots <- struct{}{}
		defer func() { <-s.slots }() // begin fails even with a slot
	}
}
