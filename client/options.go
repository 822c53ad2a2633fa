package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/internal/cache"
	"github.com/stdwire/stdwire/client/internal/era"
	"github.com/stdwire/stdwire/internal/extensionid"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Options are the settings of a [Client]. The zero value is ready for use. Each callback runs on a
// goroutine of the client, one call at a time, so a slow one delays only itself; a panic is logged.
// OnElicit, OnSample and OnRoots may run concurrently with themselves.
type Options struct {
	// Name identifies the server in errors and logs. The default is the command's name, or "server"
	// for a stream.
	Name string
	// Info is the client's name and version for the server. The default is "stdwire" and the
	// version of this module.
	Info mcp.Implementation

	// Era is the era to use; zero detects it (see the package comment).
	Era mcp.Era
	// Revision is the preferred revision; "" is the newest that both sides support. A legacy one
	// implies Era legacy. The server may choose another.
	Revision mcp.Revision

	// StartTimeout limits the start of the process and the handshake together. The default is 60 s,
	// because npx may have to download the server; negative means no limit.
	StartTimeout time.Duration
	// CallTimeout limits how long a call waits for a response, or for progress with [OnProgress].
	// The default is 5 minutes; negative means no limit. [Timeout] sets it for one call.
	CallTimeout time.Duration
	// MaxCallTime limits a call regardless of progress. The default is 60 minutes; negative means
	// no limit.
	MaxCallTime time.Duration

	// Extensions are declared to servers of both eras (SEP-2133). The extension of tasks is built
	// in.
	Extensions []Extension

	// Output says what happens to structured results of tools that do not match their schema.
	Output OutputCheck

	// Cache stores results that the server allows to be cached. The default is a private one of 16
	// MiB; NewCache(0) stores nothing. See "Caching" in the package comment.
	Cache *Cache
	// Principal identifies the credentials of this client if clients share a Cache: a private
	// result is only reused for the same Principal. It is not sent. Clients with different
	// credentials need different ones; do not use a token itself.
	Principal string

	// Limits limits received messages and stored data. Its MaxFrame, by default 64 MiB, is the
	// largest message that the server may send; a larger one is a [*TooLargeError].
	Limits rpc.Limits
	// MaxSend is the size in bytes of the largest message that is sent; a larger one fails with
	// [framing.ErrTooLarge]. The default is [mcp.DefaultMaxSend].
	MaxSend int

	// OnElicit, if set, answers elicitations (2026-07-28, Elicitation), as a form or by a URL.
	// Params.Mode is always set, and the schema of a form is flat: an object whose properties are
	// strings, numbers, booleans, choices of these, or arrays of these. The client refuses others.
	// It adds the schema's defaults to the content of an accepted form, and validates it before it
	// is sent. Decline and cancel are results. See "Input requests" in the package comment for
	// errors and concurrency.
	OnElicit func(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error)
	// ElicitModes are the modes that OnElicit supports: [mcp.ElicitForm], [mcp.ElicitURL] or both.
	// Nil means only forms. OnElicit is not called for other modes.
	ElicitModes []string
	// OnElicitComplete, if set, is called with the id of an elicitation passed to OnElicit when a
	// server of 2025-11-25 reports its completion (Elicitation, "Completion Notifications for URL
	// Mode Elicitation"). It is called once for each; completions are dropped while 1,024 wait.
	OnElicitComplete func(elicitationID string)
	// OnSample, if set, answers sampling requests with a model (2026-07-28, Sampling), under the
	// rules of OnElicit.
	OnSample func(ctx context.Context, params mcp.CreateMessageParams) (*mcp.CreateMessageResult,
		error)
	// SampleTools declares that OnSample supports tools (params.Tools). Otherwise there are none.
	SampleTools bool
	// Roots, if not nil, is the result of roots/list.
	Roots []mcp.Root
	// OnRoots, if set, replaces Roots for roots that change, under the rules of OnElicit. It is
	// called for every roots/list. See [Client.RootsChanged].
	OnRoots func(ctx context.Context) ([]mcp.Root, error)
	// OnToolsChanged, if set, is called with the new list of tools after the server has announced
	// changes: once for a burst of notifications. If the list cannot be fetched, err says why; the
	// next change calls it again.
	OnToolsChanged func(tools []*mcp.Tool, err error)
	// OnResourcesChanged and OnPromptsChanged do the same for resources and prompts. A change of
	// resource templates counts as a change of resources.
	OnResourcesChanged func(resources []*mcp.Resource, err error)
	OnPromptsChanged   func(prompts []*mcp.Prompt, err error)
	// OnListChanged, if set, is called for changes of lists whose callback above is not set, with
	// the kind of its items: [mcp.KindTool], [mcp.KindResource] or [mcp.KindPrompt]. It is called
	// once for a burst of notifications; nothing is fetched.
	OnListChanged func(kind mcp.Kind)
	// OnResourceUpdated, if set, is called with the URI of a changed resource that
	// [Client.Subscribe] has subscribed to, or that is below one of these. Changes of one resource
	// coalesce until the call. If more than 1,024 URIs or 1 MiB of them are pending, and when
	// notifications may have been lost, it is called with all subscribed URIs.
	OnResourceUpdated func(uri string)
	// OnLog, if set, is called with the server's log messages. At most 256 of them, 1 MiB in all,
	// are buffered; then the oldest are dropped.
	OnLog func(mcp.LoggingMessageParams)
	// OnNotification, if set, is called with each notification of the server that no other callback
	// handles, in order; params are nil if it has none. At most 256 notifications, 1 MiB in all,
	// are buffered, with those of extensions; then the oldest are dropped.
	OnNotification func(method string, params json.RawMessage)
	// OnRawLog, if set, is called with the params of each log message before the next message is
	// read, so that it can tell which calls are in flight. It runs on the goroutine that reads from
	// the server: it must not block, panic or retain params.
	OnRawLog func(params json.RawMessage)
	// LogLevel is the minimum severity of log messages that the client asks for. With "", a modern
	// server sends none, and a legacy one decides by itself. See also [Client.SetLogLevel].
	LogLevel mcp.LoggingLevel

	// Logger logs events that no error reports: a callback that panicked, a rejected log level. The
	// default is [slog.Default].
	Logger *slog.Logger
	// Middleware wraps the handling of each request of the server, Outgoing the sending of each
	// request and notification; the first is the outermost. The handler that Outgoing wraps sends
	// the message, sets its ID and returns the server's result as a [json.RawMessage]; its context
	// must be derived from the one that Outgoing got. A repeated request passes Outgoing each time.
	// Outgoing does not see what the client sends by itself: the requests of the handshake,
	// subscriptions, the log level of a new session, cancellations. A panic in Outgoing is logged,
	// and fails the call.
	Middleware, Outgoing []rpc.Middleware
	// Hooks observe the traffic.
	Hooks rpc.Hooks
}

func (o Options) withDefaults(name string) (Options, error) {
	o.Name = cmp.Or(o.Name, name)
	if o.Info.Name == "" {
		o.Info.Name, o.Info.Version = "stdwire", moduleVersion()
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, 60*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 5*time.Minute)
	o.MaxCallTime = cmp.Or(o.MaxCallTime, 60*time.Minute)
	o.MaxSend = cmp.Or(max(o.MaxSend, 0), mcp.DefaultMaxSend)
	o.Logger = lograte.Logger(o.Logger)
	o.Cache = cmp.Or(o.Cache, NewCache(defaultCache))
	if _, err := mcp.Marshal(o.Info); err != nil {
		return o, fmt.Errorf("Options.Info: %w", err)
	}
	for _, mode := range o.ElicitModes {
		if mode != mcp.ElicitForm && mode != mcp.ElicitURL {
			return o, fmt.Errorf("Options.ElicitModes: %.50q is neither %q nor %q", mode,
				mcp.ElicitForm, mcp.ElicitURL)
		}
	}
	if err := checkExtensions(o.Extensions); err != nil {
		return o, fmt.Errorf("Options.Extensions: %w", err)
	}
	if o.Output < OutputWarn || o.Output > OutputUnchecked {
		return o, fmt.Errorf("Options.Output: there is no %d", o.Output)
	}
	switch era := mcp.EraOf(o.Revision); {
	case o.Revision != "" && era == 0:
		return o, fmt.Errorf("Options.Revision %q is not known; this client speaks %q", o.Revision,
			mcp.Supported())
	case o.Era != 0 && era != 0 && era != o.Era:
		return o, fmt.Errorf("Options.Revision %s is not of the %v era that Options.Era wants",
			o.Revision, o.Era)
	case era == mcp.Legacy:
		o.Era = mcp.Legacy
	}
	return o, nil
}

func (o *Options) eraPreference() era.Preference {
	return era.Preference{Era: o.Era, Revision: o.Revision}
}

// Capabilities returns the client capabilities that these options declare. A server may list other
// tools depending on them.
func (o *Options) Capabilities() mcp.ClientCapabilities {
	var c mcp.ClientCapabilities
	if o.Roots != nil || o.OnRoots != nil {
		c.Roots = &mcp.ListCapability{ListChanged: o.OnRoots != nil}
	}
	if o.OnElicit != nil {
		c.Elicitation = new(mcp.ElicitationCapability)
		if o.elicits(mcp.ElicitForm) {
			c.Elicitation.Form = new(mcp.Object)
		}
		if o.elicits(mcp.ElicitURL) {
			c.Elicitation.URL = new(mcp.Object)
		}
	}
	if o.OnSample != nil {
		c.Sampling = new(mcp.SamplingCapability)
		if o.SampleTools {
			c.Sampling.Tools = new(mcp.Object)
		}
	}
	for _, e := range o.Extensions {
		if c.Extensions == nil {
			c.Extensions = make(map[string]json.RawMessage, len(o.Extensions))
		}
		// withDefaults has checked it
		c.Extensions[e.ID], _ = extensionid.Settings(e.ID, e.Settings)
	}
	return c
}

// elicits reports whether OnElicit supports a mode.
func (o *Options) elicits(mode string) bool {
	return slices.Contains(o.ElicitModes, mode) || o.ElicitModes == nil && mode == mcp.ElicitForm
}

// moduleVersion returns the version of this module in the running program, or "devel".
func moduleVersion() string {
	const path = "github.com/stdwire/stdwire"
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == path && m.Version != "(devel)" {
				version = m.Version
			}
		}
	}
	return cmp.Or(version, "devel")
}

// An OutputCheck says what happens to a structured result that does not match the tool's
// outputSchema (2026-07-28, Tools, "Output Schema").
type OutputCheck int

const (
	// OutputWarn logs a warning once per tool and returns the result. Tools that were not listed
	// are not checked.
	OutputWarn OutputCheck = iota
	// OutputFail fails the call with an [*OutputError]. If the tool was not listed, the tools are
	// listed first.
	OutputFail
	// OutputUnchecked skips the check.
	OutputUnchecked
)

const defaultCache = 16 << 20 // bytes

// A Cache stores results of modern servers for as long as the server allows (2026-07-28, Caching),
// every byte as the server wrote it. See "Caching" in the package comment. Several clients may
// share a Cache through [Options].Cache, but only if they are clients of the same server: a Cache
// does not record the server of a result. It is safe for concurrent use.
type Cache struct{ results cache.Cache }

// NewCache returns a cache of at most maxBytes bytes, which include the params of the requests.
// When it is full, it removes the least recently used results. It does not store a result larger
// than a quarter of maxBytes. If maxBytes is 0 or less, it stores nothing.
func NewCache(maxBytes int) *Cache { return &Cache{cache.Cache{Max: maxBytes}} }

// An Extension is an optional addition to MCP (SEP-2133) that the client declares to servers of
// both eras. Its handlers are called only if the server declares it too.
type Extension struct {
	// ID identifies the extension, as in com.example/maps: labels separated by dots, a slash and a
	// name (2026-07-28, Versioning, "Extension Negotiation").
	ID string
	// Settings encode as the JSON object that the client declares; nil: an empty object.
	Settings any
	// Methods are the handlers of the requests that the extension adds for legacy servers, by
	// method; modern servers send no requests. A handler may run concurrently with itself. The
	// result must encode as a JSON object. If the error is an [*rpc.Error], the server gets it; any
	// other error is logged, and the server gets -32603 "Internal error".
	Methods map[string]func(ctx context.Context, params json.RawMessage) (any, error)
	// Notifications are the handlers of notifications of the server, by method. They are called in
	// order, one at a time. At most 256 notifications, 1 MiB in all, are buffered; then the oldest
	// are dropped.
	Notifications map[string]func(params json.RawMessage)
}

// checkExtensions returns an error if an extension is invalid.
func checkExtensions(all []Extension) error {
	ids := map[string]bool{mcp.ExtensionTasks: true}
	methods, notifications := map[string]bool{}, map[string]bool{}
	for _, e := range all {
		if _, err := extensionid.Settings(e.ID, e.Settings); err != nil {
			return err
		}
		if ids[e.ID] {
			return fmt.Errorf("the extension %s is declared twice", e.ID)
		}
		ids[e.ID] = true
		for name, handler := range e.Methods {
			if name == "" || handler == nil || methods[name] || extensionid.IsMethod(name) {
				return fmt.Errorf(
					"the extension %s: the method %q is empty or taken, or its handler is nil", e.ID,
					name)
			}
			methods[name] = true
		}
		for name, handler := range e.Notifications {
			if name == "" || handler == nil || notifications[name] || extensionid.IsMethod(name) {
				return fmt.Errorf(
					"the extension %s: the notification %q is empty or taken, or its handler is nil",
					e.ID, name)
			}
			notifications[name] = true
		}
	}
	return nil
}
