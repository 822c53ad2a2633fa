package proc

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

var listSpec = dispatch.Spec{
	Name:        "proc.list",
	Title:       "List processes",
	Summary:     "List your sessions and the processes in them.",
	Description: "List your sessions and the processes in them, in the order in which they were started. One that has ended stays until proc.stop.",
	Type:        dispatch.Read,
	Idempotent:  true,
}

// ListOutput is the data of proc.list.
type ListOutput struct {
	Sessions []SessionInfo `json:"sessions"`
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	Session string   `json:"session"`
	PID     int      `json:"pid"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Status
	StartedAt   time.Time `json:"started_at"`
	OutputBytes int64     `json:"output_bytes" doc:"How much it has written so far."`
}

func (s *Service) list(ctx context.Context, _ struct{}) (ListOutput, error) {
	out := ListOutput{Sessions: []SessionInfo{}}
	for _, info := range s.sessions.List(ctx) {
		v := info.Value
		out.Sessions = append(out.Sessions, SessionInfo{
			v.id, v.guard.Pid(), v.command, v.args, v.status(),
			v.started.UTC().Truncate(time.Millisecond), v.output.total(),
		})
	}
	return out, nil
}
