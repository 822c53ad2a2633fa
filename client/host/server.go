package host

import (
	"cmp"
	"context"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/backoff"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server describes a server to a [Manager]. Only ID and Connect are required.
type Server struct {
	// ID identifies the server, and errors contain it: 1 to 32 letters, digits, '.', '_' and '-',
	// beginning with a letter or digit, and without "__".
	ID string
	// Connect starts the server or connects to it with these Options, as [client.Options.Spawn] and
	// [client.Options.Connect] do. It is not called concurrently for one session, which is the
	// session or user that the client is for, or "" for a client that is shared: see Sharing. For a
	// user, [UserFrom] returns what [Manager.Use] was told of him.
	Connect func(ctx context.Context, session string, o client.Options) (*client.Client, error)
	// Options are the options of the client. The Manager sets Name to the ID.
	Options client.Options

	// Disabled prevents the start of the server until [Manager.Enable].
	Disabled bool

	// Sharing says which uses have a client, and so a process or connection, in common.
	Sharing Sharing
	// MaxSessions is the maximum number of concurrent sessions or users with a client of their own,
	// those that are ending included; uses of others fail with ErrTooManySessions. The owner of
	// users, whom [WithUser] names, has at most half of what other owners leave. To make room for
	// another user, the client that has been unused for longest is closed, of the same owner or of
	// one who has more. Default 64.
	MaxSessions int
	// IdleStop is the time without use after which the client is closed. The next use starts it
	// again. Default 10 minutes; negative: never.
	IdleStop time.Duration

	places *quota.Pool // the MaxSessions places; set by Manager.Add
}

// A Sharing says which uses of a server have a client in common.
type Sharing string

const (
	Shared Sharing = "" // all uses
	// PerSession gives each session of [Manager.Use] a client of its own, until
	// [Manager.EndSession]. It is for servers that keep state of their client. A gateway refuses
	// requests without a session.
	PerSession Sharing = "session"
	// PerUser gives each user of [Manager.Use] a client of his own, until it is unused for IdleStop
	// or closed to make room. It is for servers that each user calls with his own credentials. A
	// gateway takes the principal of a request for the user, and refuses requests without one.
	PerUser Sharing = "user"
)

const (
	defaultIdleStop    = 10 * time.Minute
	defaultMaxSessions = 64
	// After a failure a server restarts when [backoff.Pause] is over. After maxFailures within
	// failureWindow its state is Failed, and it restarts only every failedBackoff.
	maxFailures   = 5
	failureWindow = backoff.Worked
	failedBackoff = 5 * time.Minute
	// maxWait is how long a use waits for a restart before it fails with the last error.
	maxWait = 5 * time.Second
)

func (s Server) withDefaults() Server {
	s.IdleStop = cmp.Or(s.IdleStop, defaultIdleStop)
	s.MaxSessions = cmp.Or(s.MaxSessions, defaultMaxSessions)
	s.Options.Name = s.ID
	s.places = quota.NewPool(int64(max(s.MaxSessions, 1)))
	return s
}

// A State is a stage in the life of a server.
type State string

const (
	Stopped  State = "stopped"  // unused so far or for IdleStop; the next use starts it
	Starting State = "starting" // Server.Connect runs
	Ready    State = "ready"    // connected
	Waiting  State = "waiting"  // after a failure; it restarts after a pause
	Failed   State = "failed"   // after too many failures; it restarts after 5 min, or a use after 1
	Disabled State = "disabled" // it does not start until Manager.Enable
)

// A Status is the current state of a server.
type Status struct {
	ID           string
	Session      string // the session or user, for a server with either of its own
	State        State
	Err          error           // the last failure; nil if none since the last connection
	RetryAt      time.Time       // the time of the restart; set if Waiting or Failed
	Since        time.Time       // when the state began
	Ended        bool            // Stopped while Ready by a method of Manager, such as EndSession
	Uses         int             // number of uses in progress
	Restarts     int             // number of restarts after failures
	Process      *client.Process // the child process, if any; set if Ready
	Era          mcp.Era         // set if Ready
	Revision     mcp.Revision    // set if Ready
	LastReceived time.Time       // the time of the last message from the server; set if Ready
}
