package host

import (
	"cmp"
	"context"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server describes a server to a [Manager]. Only ID and Connect are required.
type Server struct {
	// ID names the server, in errors too.
	ID string
	// Connect starts the server or connects to it with these Options, as [client.Options.Spawn] and
	// [client.Options.Connect] do. It is not called concurrently for one session, which is ""
	// unless PerSession is set.
	Connect func(ctx context.Context, session string, o client.Options) (*client.Client, error)
	// Options are the options of the client. Its name is the ID.
	Options client.Options
	// Digest, if set, identifies the definition of the server: while it is the same, the server's
	// lists are likely to be the same.
	Digest string
	// Filter selects the tools of the server.
	Filter Filter

	// MaxArguments and MaxResult limit the bytes of the arguments of a call of a tool or prompt,
	// and of the result of a call or read, through a gateway; 0 means 8 MiB. A message over
	// Options.Limits.MaxFrame is not received at all. The Manager ignores them.
	MaxArguments, MaxResult int

	// Disabled prevents its start until [Manager.Enable].
	Disabled bool

	// PerSession gives each session of [Manager.Use] a client and a process of its own, until
	// [Manager.EndSession]. It is for servers that must not be shared. A gateway refuses requests
	// without a session.
	PerSession bool
	// MaxSessions is the maximum number of concurrent sessions; uses of others fail with
	// ErrTooManySessions. Default 64.
	MaxSessions int
	// IdleStop is the time without use after which the client is closed. The next use starts it
	// again. Default 10 minutes; negative: never.
	IdleStop time.Duration
}

const (
	defaultIdleStop    = 10 * time.Minute
	defaultMaxSessions = 64
	// firstBackoff is the pause after the first failure. It doubles with each consecutive failure.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// maxFailures within failureWindow make the server fail: it is restarted only every
	// failedBackoff.
	maxFailures   = 5
	failureWindow = 2 * time.Minute
	// failedBackoff is the pause after too many failures.
	failedBackoff = 5 * time.Minute
	// maxWait is how long a use waits for a restart before it fails with the last error.
	maxWait = 5 * time.Second
)

func (s Server) withDefaults() Server {
	s.IdleStop = cmp.Or(s.IdleStop, defaultIdleStop)
	s.MaxSessions = cmp.Or(s.MaxSessions, defaultMaxSessions)
	s.Options.Name = s.ID
	return s
}

// A State is a stage in the life of a server.
type State string

const (
	Stopped  State = "stopped"  // not used yet, or not for IdleStop: the next use starts it
	Starting State = "starting" // for the first time, or again
	Ready    State = "ready"
	Waiting  State = "waiting" // has failed, and is restarted after a pause
	// has failed too often: is restarted after 5 minutes, or by a use after one
	Failed   State = "failed"
	Disabled State = "disabled" // is not started
)

// A Status is the current state of a server.
type Status struct {
	ID        string
	Session   string // of a server with PerSession
	State     State
	Err       error           // the last failure; nil if there was none, or the server works again
	RetryAt   time.Time       // Waiting, Failed: the time of the restart
	Since     time.Time       // of the state
	Uses      int             // in progress
	Restarts  int             // number of restarts after a failure
	Process   *client.Process // Ready: the child process, if any
	Era       mcp.Era         // Ready
	Revision  mcp.Revision    // Ready
	LastHeard time.Time       // Ready: the time of the last message from the server
}
