package hook

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
)

// A phase says when a hook is asked.
type phase string

const (
	phaseBefore phase = "before" // a call, about its arguments
	phaseAfter  phase = "after"  // a call, about its result
)

// value returns the name of the member of a message and of an answer that the phase is about.
func (p phase) value() string {
	if p == phaseBefore {
		return "arguments"
	}
	return "result"
}

// A message is what a hook is told of a call. What is not known is absent. It contains no token and
// no claim of one except those that an [auth.Identity] names: others may be personal, and the
// issuer decides how large they are.
type message struct {
	Phase  phase  `json:"phase"`
	Server string `json:"server"`
	Tool   string `json:"tool"`

	Principal string    `json:"principal,omitempty"`
	Identity  *identity `json:"identity,omitempty"`
	Client    *program  `json:"client,omitempty"`
	Session   string    `json:"session,omitempty"`    // see [server.Client]
	RequestID string    `json:"request_id,omitempty"` // see [dispatch.Invocation]

	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
}

// An identity is who calls, as the transport has authenticated him.
type identity struct {
	Issuer   string   `json:"issuer"`
	Subject  string   `json:"subject"`
	ClientID string   `json:"client_id,omitempty"` // of the OAuth client
	Groups   []string `json:"groups,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
}

// A program is what a client says of its program.
type program struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

const maxRequestID = 128 // bytes

func newMessage(ctx context.Context, i *dispatch.Invocation, p phase,
	value json.RawMessage) *message {
	m := &message{Phase: p, Server: i.Server, Tool: i.Name, Principal: i.Principal,
		RequestID: printable.TruncateBytes(i.RequestID, maxRequestID)}
	if p == phaseBefore {
		m.Arguments = value
	} else {
		m.Result = value
	}
	if id := auth.IdentityFrom(ctx); id != nil {
		m.Identity = &identity{id.Issuer, id.Subject, id.ClientID, id.Groups, id.Scopes}
	}
	from := server.ClientFrom(ctx)
	m.Session = from.Session
	if from.Name != "" || from.Version != "" {
		m.Client = &program{from.Name, from.Version}
	}
	return m
}
