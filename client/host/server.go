package host

import (
	"cmp"
	"context"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server is what a [Manager] has to know of a server to keep a client of it. Only ID and Connect
// are required.
type Server struct {
	// ID names the server, in errors too.
	ID string
	// Connect starts the server, or connects to it, with these Options, as [client.Options.Spawn]
	// and [client.Options.Connect] do. It is never called twice at a time for one session, which is
	// "" unless PerSession is set.
	Connect func(ctx context.Context, session string, o client.Options) (*client.Client, error)
	// Options are those of the client. The name is the ID.
	Options client.Options
	// Digest, if set, stands for the definition of the server: as long as it is the same, what the
	// server has is likely to be the same.
	Digest string
	// Filter says which of the server's tools there are.
	Filter Filter

	// MaxArguments and MaxResult are how many bytes the arguments of one call of a tool or prompt,
	// and the result of a call or read, may have on their way through a gateway; 0 is 8 MiB. A
	// message that is larger than Options.Limits.MaxFrame is not received at all. The Manager does
	// not look at them.
	MaxArguments, MaxResult int

	// Disabled has it not started until [Manager.Enable].
	Disabled bool

	// PerSession is for servers that must not be shared: each session, as [Manager.Use] names it,
	// has a client and a process of its own, until [Manager.EndSession]. A gateway refuses requests
	// without a session.
	PerSession bool
	// MaxSessions is how many sessions have one at a time; the uses of others fail with
	// ErrSessions. Default 64.
	MaxSessions int
	// IdleStop is after how long without use the client is closed; the next use starts it again.
	// Default 10 minutes; negative is never.
	IdleStop time.Duration
}

const (
	defaultIdleStop    = 10 * time.Minute
	defaultMaxSessions = 64
	// firstBackoff is how long after a failure the server is started again; doubled with each
	// failure in a row.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// maxFailures within failureWindow are too many: the server is started again only now and then.
	maxFailures   = 5
	failureWindow = 2 * time.Minute
	// failedBackoff is how long it is left alone then.
	failedBackoff = 5 * time.Minute
	// maxWait is how long a use waits at most for a server that is to be started again, before it
	// fails with the reason of the last failure.
	maxWait = 5 * time.Second
)

func (s Server) withDefaults() Server {
	s.IdleStop = cmp.Or(s.IdleStop, defaultIdleStop)
	s.MaxSessions = cmp.Or(s.MaxSessions, defaultMaxSessions)
	s.Options.Name = s.ID
	return s
}

// A State is where a server is in its life.
type State string

const (
	Stopped  State = "stopped"  // it was not wanted yet, or not for a while: the next use starts it
	Starting State = "starting" // for the first time, or again
	Ready    State = "ready"
	Waiting  State = "waiting" // it has failed, and is started again in a while
	// it has failed too many times, and is started again in 5 minutes, or by a use after one, or a
	// restart
	Failed   State = "failed"
	Disabled State = "disabled" // on request: it is not started
)

// A Status is what there is to know of one server now.
type Status struct {
	ID        string
	Session   string // of a Server with PerSession, whose it is
	State     State
	Err       error           // why it failed last; nil if it never did, or works again
	RetryAt   time.Time       // Waiting, Failed: when it is started again
	Since     time.Time       // of the state
	Uses      int             // that are under way
	Restarts  int             // how many times it was started after it had failed
	Process   *client.Process // Ready, and a process of ours
	Era       mcp.Era         // Ready: which one is spoken
	Revision  mcp.Revision    // of it
	LastHeard time.Time       // Ready: when it last sent anything at all
}
