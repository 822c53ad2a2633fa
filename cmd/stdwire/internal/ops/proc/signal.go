package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

var signalSpec = dispatch.Spec{
	Name:    "proc.signal",
	Title:   "Signal process",
	Summary: "Send a signal to a session's process and its whole process group.",
	Description: "Send a signal to a session's process and its whole process group. " +
		signalHelp + " The session remains: see proc.stop to end it.",
	Type:     dispatch.Lifecycle,
	Errors:   []dispatch.Code{dispatch.StateError, dispatch.UpstreamError, dispatch.NotImplemented},
	Timeout:  time.Minute,
	Examples: []dispatch.Example{signalExample},
}

// SignalOutput is the data of proc.signal.
type SignalOutput struct {
	Session string `json:"session"`
	Signal  string `json:"signal"`
}

func (s *Service) signal(ctx context.Context, in SignalInput) (out SignalOutput, err error) {
	session, err := s.sessions.Get(ctx, in.Session.Session)
	if err != nil {
		return out, err
	}
	err = session.guard.Signal(signals[in.Signal])
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return out, dispatch.Errorf(dispatch.NotImplemented, "this system has no signal %s",
			in.Signal)
	case errors.Is(err, os.ErrProcessDone):
		return out, dispatch.Errorf(dispatch.StateError, "the process of %q has ended", session.id)
	case err != nil:
		return out, dispatch.Errorf(dispatch.UpstreamError, "signal %s to %q: %w", in.Signal,
			session.id, err)
	}
	return SignalOutput{session.id, in.Signal}, nil
}

// signalName returns the name of a signal without SIG.
func signalName(sig syscall.Signal) string {
	for name, number := range signals {
		if number == sig {
			return name
		}
	}
	return fmt.Sprintf("%d", int(sig))
}
