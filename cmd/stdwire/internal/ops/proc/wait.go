package proc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

var waitSpec = dispatch.Spec{
	Name:    "proc.wait",
	Title:   "Wait for process",
	Summary: "Wait until a session's process has ended.",
	Description: "Wait until a session's process has ended, and say how. If the time runs out, that is not an error: running is true. " +
		"Its output can be read with proc.read before and after; the process does not wait for it to be read.",
	Type:       dispatch.Wait,
	Idempotent: true,
	Timeout:    waitTimeout,
	Examples: []dispatch.Example{
		{Summary: "A minute at most",
			Input: json.RawMessage(`{"session":"make-4f9a2c","timeout_ms":60000}`)}},
}

// WaitInput are the arguments of proc.wait.
type WaitInput struct {
	dispatch.Session
	TimeoutMS int `json:"timeout_ms,omitempty" doc:"How many milliseconds to wait at most." default:"10000" min:"0" max:"600000"`
}

// WaitOutput is the data of proc.wait.
type WaitOutput struct {
	Status
	DurationMS int64 `json:"duration_ms" doc:"For how many milliseconds the process has run, or ran."`
}

func (s *Service) wait(ctx context.Context, in WaitInput) (out WaitOutput, err error) {
	session, err := s.sessions.Get(ctx, in.Session.Session)
	if err != nil {
		return out, err
	}
	if !session.waitFor(ctx, milliseconds(in.TimeoutMS)) && ctx.Err() != nil {
		return out, ctx.Err()
	}
	duration := time.Since(session.started)
	if out.Status = session.status(); !out.Running {
		duration = session.duration
	}
	out.DurationMS = duration.Milliseconds()
	return out, nil
}
