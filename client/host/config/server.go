package config

import (
	"cmp"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server is the definition of a server, in one form for all applications. Variables in its
// strings are not expanded: see [Server.Resolve]. Formatting a Server prints only its Position, so
// that its secrets do not reach a log by accident.
type Server struct {
	ID        string
	Position         // of its definition
	Workspace string // the directory in which it starts; ${workspaceFolder}
	Base      string // the directory in which relative paths start; "": Workspace
	Project   bool   // its file was found in the workspace: see [Store.Check]

	// Overrides is the position of the server of the user's own file that this one replaces, or
	// zero.
	Overrides Position

	// Either the command of a server on stdio, or the URL of a server over HTTP.
	Command    string
	Args       []string
	Dir        string // the working directory; "": Workspace
	Env        map[string]string
	EnvFile    string   // a file with further variables, or ""; Env has precedence
	InheritEnv []string // see [client.Command]

	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil if not given
	TLS     TLS
	// Credentials say with what a gateway calls the server for each of its users. Nil, the default,
	// means with those of the definition itself for all.
	Credentials *Credentials

	Era mcp.Era // zero: detected
	// Zero durations are the defaults of [client.Options] and [host.Server]; negative ones mean no
	// limit.
	StartTimeout time.Duration // of the start and the handshake
	CallTimeout  time.Duration // of a call
	IdleStop     time.Duration // the time without calls after which the server is stopped
	PerSession   bool          // each session gets a process of its own
	Required     bool          // a gateway is not ready while the server cannot be used
	// MaxArguments and MaxResult limit the bytes of a call through a gateway: see gateway.Upstream.
	MaxArguments, MaxResult int
	// MaxResultText are limits of the characters of a result's text: see gateway.Upstream.
	MaxResultText map[string]int
	// CacheResults is how long results of tools that only read are cached, and CachePublic says
	// that they are the same for all callers: see gateway.Upstream.
	CacheResults time.Duration
	CachePublic  bool

	Disabled bool // it must not be started
	Filter   host.Filter
	Listed   []string // patterns of the tools that a gateway lists in any case
	AsTools  bool     // a gateway offers resources and prompts as tools too
	// ItemOverrides are what a gateway offers in place of the server's definitions.
	ItemOverrides map[string]host.Override
	Inputs        map[string]Input // the inputs that its file describes, by id

	// Err is the first error in the definition, or nil. A server with an error cannot be used.
	Err error

	extraFields []extraField // unknown members
}

const (
	// defaultMaxMessage is the default size limit of a message from the server, in bytes.
	defaultMaxMessage = 64 << 20
	// messageOverhead is the maximum size of a message without its result, in bytes.
	messageOverhead = 1 << 20
)

// Options returns o with the name, era and times of the definition, and a size limit that admits a
// result of MaxResult.
func (s *Server) Options(o client.Options) client.Options {
	o.Name = s.ID
	o.Era = cmp.Or(s.Era, o.Era)
	o.StartTimeout, o.CallTimeout = cmp.Or(s.StartTimeout, o.StartTimeout),
		cmp.Or(s.CallTimeout, o.CallTimeout)
	if message := s.MaxResult +
		messageOverhead; message > max(o.Limits.MaxFrame, defaultMaxMessage) {
		o.Limits.MaxFrame = message
	}
	return o
}

// An Endpoint is the command or URL of a [Server] with variables expanded. Its values are secret
// and must not be shown.
type Endpoint struct {
	Command client.Command // Path is "" for a URL
	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil if not given
	TLS     TLS    // absolute paths

	Credentials *Credentials // nil: those of the definition for all

	// EnvFile is the path of the file that has been read for Command.Env, or "".
	EnvFile string
}

// TLS are files in PEM for TLS to a server at a URL. "" stands for the default.
type TLS struct {
	CA         string // the authorities that are trusted, in place of those of the system
	ClientCert string // the certificate that the client presents to the server
	ClientKey  string // its private key
}

// An Input describes a value that the user is asked for, ${input:ID}.
type Input struct {
	ID          string
	Description string
	Password    bool // must not be shown while it is typed
}

// UnknownMembers returns the names of the members that stdwire does not know.
func (s *Server) UnknownMembers() (names []string) {
	for _, o := range s.extraFields {
		names = append(names, o.name)
	}
	return names
}

// An extraField is an unknown member, which is kept for other applications.
type extraField struct {
	name string
	json []byte
}
