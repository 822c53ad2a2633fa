package proc

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

const maxTail = 4 << 10 // bytes of output that proc.stop returns

var stopSpec = dispatch.Spec{
	Name:    "proc.stop",
	Title:   "Stop process",
	Summary: "End a session, and its process if that still runs.",
	Description: "End a session, and its process if that still runs, with all that it started: " +
		stopHelp + " Returns how it ended, and the end of its unread output, up to 4 KiB. " +
		"Stopping a session that does not exist is not an error: stopped is false.",
	Type:       dispatch.Lifecycle,
	Idempotent: true,
	Errors:     []dispatch.Code{dispatch.UpstreamError},
	Timeout:    2 * time.Minute,
	Examples: []dispatch.Example{
		{Summary: "At once", Input: json.RawMessage(`{"session":"python3-4f9a2c","grace_ms":0}`)}},
}

// StopInput are the arguments of proc.stop.
type StopInput struct {
	dispatch.Session
	GraceMS int `json:"grace_ms,omitempty" doc:"How many milliseconds the process has to end by itself before it is killed." default:"2000" min:"0" max:"60000"`
}

// StopOutput is the data of proc.stop.
type StopOutput struct {
	Stopped bool `json:"stopped" doc:"There was such a session, and this call ended it."`
	End
	Output string `json:"output,omitempty" doc:"The end of its unread output."`
}

func (s *Service) stop(ctx context.Context, in StopInput) (out StopOutput, err error) {
	session, err := s.sessions.Get(ctx, in.Session.Session)
	if in.Session.Session != "" && errors.Is(err, dispatch.NotRunning) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	// the session is closed in any case; Close reports a process that has not ended
	_ = session.end(ctx, milliseconds(in.GraceMS))
	if out.Stopped, err = s.sessions.Close(ctx, session.id); err != nil {
		return out, err
	}
	out.End, out.Output = endOf(session.exit), session.output.tail(maxTail)
	return out, nil
}
