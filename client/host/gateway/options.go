package gateway

import (
	"context"
	"io"
	"log/slog"

	"github.com/stdwire/stdwire/dispatch"
)

// A ResultStore keeps large results that several gateways read. Its methods must be safe for
// concurrent use; calls wait for them. A panic becomes an error.
type ResultStore interface {
	// Put keeps a result of a principal, and what the gateway knows about it. The id cannot be
	// guessed. Put must not modify the result nor retain it. After an error only the gateway that
	// has made the result can read it.
	Put(ctx context.Context, principal, id string, result, about []byte) error
	// Get returns what Put has kept for the principal with the id, or nil if it is not kept any
	// more, or for another one.
	Get(ctx context.Context, principal, id string) (result, about []byte, err error)
}

// Options are the settings of a [Gateway]. The zero value is ready for use.
type Options struct {
	// MaxName limits the length of the public names of tools and prompts; 0 is
	// [host.DefaultMaxName].
	MaxName int
	// NoPrefix keeps the servers' own names of tools and prompts, whatever MaxName is. Where two
	// servers have the same name, the first in order offers it.
	NoPrefix bool
	// NoDescriptionPrefix keeps the descriptions of tools and prompts unchanged. By default they
	// have the prefix "[ID] "; an item without a description has "[ID]".
	NoDescriptionPrefix bool
	// CacheDir, if set, is a directory for the lists of servers with a Digest. The next gateway
	// offers cached lists at once and starts a server only when it is used.
	CacheDir string
	// PinFile, if set, is the path of a file that records the definitions of tools, prompts,
	// resources and templates at the first use of their server and up to 10 s after it, and its
	// instructions. What has changed since, or a known server adds later, is withheld until
	// "stdwire pin accept" accepts it in the file and [Gateway.Recheck], or the server's next list,
	// compares it again. The first pin creates the file. If it cannot be read or written, the items
	// are withheld too.
	PinFile string
	// PinsWarn offers such definitions and only logs them.
	PinsWarn bool
	// Interceptors wrap each tools/call, prompts/get and resources/read of a server, the limits of
	// arguments and results included; the first is the outermost, and [dispatch.Interceptor] says
	// what a call has passed before. An error refuses the call, and the client gets its text,
	// unless it is or wraps the error of the call; that of the code [dispatch.TooManyRequests] is
	// sent as package server sends it. Arguments and results that are replaced must be JSON
	// objects, the result in a [server.NewResult]. A question of the server is an error to
	// them.
	Interceptors []dispatch.Interceptor
	// Audit, if set, gets a line for each call: see Control in the package comment. No call waits
	// for it, and its errors fail no call. A Write that never returns leaks a goroutine.
	Audit io.Writer
	// AuditValues adds the arguments themselves to the audit log.
	AuditValues bool
	// AuditKey is the HMAC key of the digests in the audit log: 32 random bytes, secret. If it is
	// nil, each gateway generates one, and digests of different gateways do not match.
	AuditKey []byte
	// MaxResultText, if set, returns the limit of the text of results for the client of the request
	// in ctx, in characters; 0 means none. The smaller one of it and that of the server holds: see
	// Large results in the package comment. It must not block.
	MaxResultText func(ctx context.Context) int
	// ResultDir, if set, is a directory in which the gateway keeps large results, encrypted, when
	// there is no room in memory. Several gateways may share it.
	ResultDir string
	// Results, if set, also keeps large results where other gateways read them.
	Results ResultStore
	// Catalog, if set, receives the tools as operations, for a command line or an HTTP API: see
	// Operations in the package comment. [Gateway.AwaitOperation] is for its dispatcher. It must
	// not be the catalog of the gateway's own server, which already has the tools.
	Catalog *dispatch.Catalog
	// Logger logs starts, ends and failures of servers, withheld items, failures to write the audit
	// log, and questions and log messages that cannot be forwarded; nil is slog.Default(). It does
	// not get the log messages of the servers.
	Logger *slog.Logger
}
