package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server is the definition of one server, brought into one form whatever application it was
// written for. Texts are as they were written: variables in them have not been replaced yet, see
// [Server.Resolve]. Printed, a Server is its Position, so that what is secret in it does not get
// into a log by accident.
type Server struct {
	ID        string
	Position         // where its definition begins
	Workspace string // the directory that it belongs to: where it starts, and ${workspaceFolder}
	// its file was found in the workspace, and not named by the user: see [Store.Check]
	Project bool

	// Overrides is where the user's own file has a server of this id, which this one takes the
	// place of; zero if it does not.
	Overrides Position

	// Either the command of a server on stdio, or the URL of one over HTTP.
	Command    string
	Args       []string
	Dir        string // the working directory; "" is Workspace
	Env        map[string]string
	EnvFile    string   // has more of Env, which wins; "" if there is none
	InheritEnv []string // see [client.Command]

	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil if it says nothing

	Era mcp.Era // zero finds out
	// Times; zero is the default of whoever starts the server, negative is for ever.
	StartTimeout time.Duration // for the start and the handshake
	CallTimeout  time.Duration // of a call
	IdleStop     time.Duration // without calls, until the server is stopped
	PerSession   bool          // it must not be shared: every session gets a process of its own
	// Bytes of a call through a gateway; zero is its default.
	MaxArguments, MaxResult int

	Disabled bool // it is not to be started
	Filter   host.Filter
	Inputs   map[string]Input // those that its file describes, by their ids

	// Err is the first error that was found, nil if there is none. A server with one cannot be
	// used.
	Err error

	base        string       // what relative paths start at
	extraFields []extraField // fields that mean nothing here
}

const (
	// defaultMaxMessage is how many bytes a message from the server may have if client.Options do
	// not say.
	defaultMaxMessage = 64 << 20
	// messageOverhead is what a message has beside the result at most.
	messageOverhead = 1 << 20
)

// Options returns o with what the definition says of its own: the name, the era, the times, and
// room for a message with a result of MaxResult.
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

// An Endpoint is what there is to start or connect to: a [Server] whose variables have been
// replaced. Its values are secrets, and must not be shown.
type Endpoint struct {
	Command client.Command // Path is "" if there is a URL
	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil if there is nothing to say

	// EnvFile is the path of the file that some of Command.Env is from, "" if there is none.
	EnvFile string
}

// An Input is a value that the user is to be asked for: ${input:ID}.
type Input struct {
	ID          string
	Description string
	Password    bool // must not be shown while it is typed
}

// An other is a field that is kept for other applications.
type extraField struct {
	name string
	json []byte
}

const maxID = 32

// SuggestID returns the id, one that [host.CheckID] takes, that is most like a name; "" if nothing
// of the name can be in one.
func SuggestID(name string) string {
	var b strings.Builder
	var last byte = '-'
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		case strings.IndexByte("._-", last) >= 0:
			continue
		case strings.IndexByte("._-", c) < 0:
			c = '-'
		}
		if b.Len() == maxID {
			break
		}
		b.WriteByte(c)
		last = c
	}
	return strings.TrimRight(b.String(), "._-")
}
