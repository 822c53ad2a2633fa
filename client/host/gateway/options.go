package gateway

import (
	"io"
	"log/slog"

	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/dispatch"
)

// Options are the settings of a [Gateway]. The zero value is ready for use.
type Options struct {
	// MaxName limits the length of tool names; 0 is [host.DefaultMaxName].
	MaxName int
	// NoPrefix keeps the servers' own names of tools and prompts, whatever MaxName is. Where two
	// servers have the same name, the first in order offers it.
	NoPrefix bool
	// NoDescriptionPrefix keeps descriptions unchanged.
	NoDescriptionPrefix bool
	// Remember, if set, is a directory that caches the lists of servers with a Digest. The next
	// gateway offers cached lists at once and starts a server only when it is used.
	Remember string
	// Pins, if set, remember what tools, prompts, resources and templates looked like when they
	// were first used, or came within 10 s of that. What is another now, or new to a server that is
	// known, is withheld until it is accepted with [pin.Lock.Accept], and [Gateway.Recheck] or the
	// next list of the server has seen that. With PinsWarn it is offered, and the log told.
	Pins     *pin.Lock
	PinsWarn bool
	// Before runs before each tool call, and After on its result, unless that is an error or a
	// question. Each interceptor sees the changes of those ahead of it.
	Before, After []Interceptor
	// Audit, if set, gets a line for each call: see above. No call waits for it, and its errors
	// fail no call. A Write that never returns leaks a goroutine.
	Audit io.Writer
	// AuditValues adds the arguments themselves to the audit log.
	AuditValues bool
	// AuditKey is the HMAC key of the digests in the audit log: 32 random bytes, secret. If it is
	// nil, each gateway generates one, and digests of different gateways do not match.
	AuditKey []byte
	// Catalog, if set, receives the tools as operations, for a command line or an HTTP API: see
	// above. [Gateway.AwaitOperation] is for its dispatcher. It must not be the catalog of the
	// gateway's own server, which has the tools already.
	Catalog *dispatch.Catalog
	// Logger logs tools that are left out, failures to write the audit log, and questions and log
	// messages that cannot be forwarded; nil is slog.Default(). The servers' own log messages do
	// not go there.
	Logger *slog.Logger
}
