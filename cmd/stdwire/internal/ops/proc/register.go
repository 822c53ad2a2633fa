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
	Roots *fs.Roots // roots of working directories, which callers name as instances

	// Allow lists the programs that callers may start: names on the PATH of this program ("git"),
	// and absolute paths. They are compared exactly, except on Windows; see the package
	// documentation. nil allows any.
	Allow []string

	Max    int           // maximum number of sessions, and of scripts; 0 means 32
	Buffer int           // bytes of output kept for each session; 0 means 1 MiB
	Idle   time.Duration // a session without calls for this time ends; 0 means 1 h
	Logger *slog.Logger  // logs processes that do not end; nil means slog.Default()
}

// A Service holds the state of the operations and their processes.
type Service struct {
	roots    *fs.Roots
	allow    allowList
	max      int
	buffer   int
	sessions *dispatch.Sessions[*session]
	scripts  *scripts
}

const stopGrace = 2 * time.Second // for a process to end, by default

// Register adds the operations to a catalog. It fails if an operation of one of the names exists,
// or if an entry of the allow list is neither a name nor an absolute path. The caller must call
// [Service.Shutdown] when no more calls are made.
func Register(c *dispatch.Catalog, o Options) (*Service, error) {
	if o.Roots == nil {
		return nil, errors.New("proc: no roots for working directories")
	}
	allow, err := newAllowList(o.Allow)
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	s := &Service{roots: o.Roots, allow: allow, max: cmp.Or(o.Max, 32),
		buffer: cmp.Or(o.Buffer, 1<<20)}
	s.sessions = dispatch.SessionOptions[*session]{
		Close: func(ctx context.Context, _ string,
			session *session) error {
			return session.end(ctx, stopGrace)
		},
		Max:    s.max,
		Idle:   cmp.Or(o.Idle, time.Hour),
		Logger: o.Logger,
	}.New()
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

func operation[In, Out any](errs *[]error, gate dispatch.Gate, spec dispatch.Spec,
	fn func(context.Context, In) (Out, error)) *dispatch.Operation {
	spec.Gate = gate
	op, err := dispatch.NewOperation(spec, fn)
	*errs = append(*errs, err)
	return op
}

// Shutdown ends all processes and blocks until they have ended; no process can be started
// afterwards. It kills the scripts, then stops the sessions, the newest first; each has two
// seconds, or, if ctx has a deadline, its share of the remaining time. When ctx ends, all remaining
// processes are killed. Shutdown may be called any number of times. The error lists sessions whose
// process has not ended five seconds after it was killed.
func (s *Service) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		for _, info := range s.sessions.List(context.Background()) {
			info.Value.guard.Kill() // all at once
		}
	})()
	s.scripts.shutdown()
	return s.sessions.Shutdown(ctx)
}
