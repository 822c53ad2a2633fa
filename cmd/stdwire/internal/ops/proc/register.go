package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/dispatch"
)

// Options are the settings of the operations. Only Roots is required.
type Options struct {
	Roots *fs.Roots // where working directories are: the instances that callers name

	// Allow is what callers may start: names to be found on the PATH of this program ("git"), and
	// absolute paths, to the letter, but on Windows as the package says. nil: anything.
	Allow []string

	Max    int           // how many sessions there may be at a time, and as many scripts; 0: 32
	Buffer int           // how many bytes of output are kept of each session; 0: 1 MiB
	Idle   time.Duration // a session that no call has used for so long is ended; 0: 1 h
	Logger *slog.Logger  // hears of processes that do not end, if nobody else does; nil: slog.Default()
}

// A Service is the operations and their processes.
type Service struct {
	roots    *fs.Roots
	allow    allowList
	max      int
	buffer   int
	sessions *dispatch.Sessions[*session]
	scripts  *scripts
}

const stopGrace = 2 * time.Second // for a process to end when nobody says how long it may take

// Register adds the operations to a catalog. It fails if one of the names is taken, or an entry of the allow-list is neither a name nor an absolute path.
// [Service.Shutdown] is to be called when no more calls come.
func Register(c *dispatch.Catalog, o Options) (*Service, error) {
	if o.Roots == nil {
		return nil, errors.New("proc: no roots for working directories")
	}
	allow, err := newAllowList(o.Allow)
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	s := &Service{roots: o.Roots, allow: allow, max: cmp.Or(o.Max, 32), buffer: cmp.Or(o.Buffer, 1<<20)}
	s.sessions = dispatch.NewSessions(dispatch.SessionOptions[*session]{
		Close:  func(ctx context.Context, _ string, session *session) error { return session.end(ctx, stopGrace) },
		Max:    s.max,
		Idle:   cmp.Or(o.Idle, time.Hour),
		Logger: o.Logger,
	})
	s.scripts = newScripts(s.max)

	var errs []error
	ops := []*dispatch.Operation{
		operation(&errs, dispatch.GateExec, startSpec, s.start),
		operation(&errs, dispatch.GateExec, sendSpec, s.send),
		operation(&errs, dispatch.GateExec, readSpec, s.read),
		operation(&errs, dispatch.GateExec, waitSpec, s.wait),
		operation(&errs, dispatch.GateExec, signalSpec, s.signal),
		operation(&errs, dispatch.GateExec, listSpec, s.list),
		operation(&errs, dispatch.GateExec, stopSpec, s.stop),
	}
	if HasEval {
		ops = append(ops, operation(&errs, dispatch.GateEval, evalSpec, s.eval))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, c.Register(ops...)
}

func operation[In, Out any](errs *[]error, gate dispatch.Gate, spec dispatch.Spec, fn func(context.Context, In) (Out, error)) *dispatch.Operation {
	spec.Gate = gate
	op, err := dispatch.New(spec, fn)
	*errs = append(*errs, err)
	return op
}

// Shutdown ends all processes, and blocks until they have ended; none can be started any more. First the scripts are killed, then the
// sessions are stopped, the last one first; each may take two seconds, or if ctx has a deadline its share of the time that is left. When ctx
// has ended, all that are left are killed at once. It may be called any number of times. The error tells of sessions whose process has not
// ended five seconds after it was killed.
func (s *Service) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		for _, info := range s.sessions.List(context.Background()) {
			info.Value.guard.Kill() // and not one after the other
		}
	})()
	s.scripts.shutdown()
	return s.sessions.Shutdown(ctx)
}
