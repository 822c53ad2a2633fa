package proc

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/dispatch"
)

// scripts counts those that run, and can end them all.
type scripts struct {
	slots chan struct{} // one is in it for each that runs
	life  context.Context
	end   context.CancelFunc

	shutting sync.Mutex // one takes all slots
}

func newScripts(limit int) *scripts {
	life, end := context.WithCancel(context.Background())
	return &scripts{slots: make(chan struct{}, limit), life: life, end: end}
}

// begin makes a context for a script, which ends with ctx or with all scripts. done is to be called when the script has ended.
func (s *scripts) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	free := false
	select {
	case s.slots <- struct{}{}:
		free = true
	default:
	}
	err = s.ended() // asked now, shutdown waits for the slot
	switch {
	case err != nil && free:
		<-s.slots
	case err == nil && !free:
		err = dispatch.Errorf(dispatch.StateError, "%d scripts are running, as many as may; try again when one has ended", cap(s.slots))
	}
	if err != nil {
		return nil, nil, err
	}
	run, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return run, func() {
		stop()
		cancel()
		<-s.slots
	}, nil
}

// ended returns an error once all scripts are to end.
func (s *scripts) ended() error {
	if s.life.Err() != nil {
		return dispatch.Errorf(dispatch.StateError, "no script can run any more: the program is ending")
	}
	return nil
}

// shutdown ends all scripts and blocks until their calls have returned, which takes no longer than to kill a process; none begins any more.
func (s *scripts) shutdown() {
	s.end()
	s.shutting.Lock()
	defer s.shutting.Unlock()
	for range cap(s.slots) {
		s.slots <- struct{}{}
		defer func() { <-s.slots }() // begin fails all the same
	}
}
