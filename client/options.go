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

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Options are the settings of a [Client]. The zero value is ready for use. Callbacks run one at a time each, on a goroutine of the client's; a slow one
// delays only itself, and one that panics is logged and called again next time. Those that have a context and return a result, OnElicit, OnSample and OnRoots, are
// called by any number of goroutines at a time.
type Options struct {
	// Name is how errors and the log call the server. The default is the command's name, or "server" for a stream.
	Name string
	// Info is how the client introduces itself. The default is the name "stdwire" and the version of this module.
	Info mcp.Implementation

	// Era is the era to speak; zero finds out (see the package comment).
	Era mcp.Era
	// Revision is the preferred one; "" is the newest that both sides know. A legacy one implies Era legacy. The server may choose another.
	Revision mcp.Revision

	// StartTimeout bounds the start of the process and the handshake together. Default 60 s, because npx may have to download the server; negative is none.
	StartTimeout time.Duration
	// CallTimeout is how long a call waits for an answer, or for progress if it asked for that with [OnProgress]. Default 5 minutes; negative is for ever.
	// [Timeout] sets it for one call.
	CallTimeout time.Duration
	// MaxCallTime is how long a call lasts at most, whatever progress it makes. Default 60 minutes; negative is for ever.
	MaxCallTime time.Duration

	// Output is what becomes of tools' structured results that do not fit their schemas.
	Output OutputCheck

	// Cache keeps the results that the server says may be kept. The default is one of the client's own, of 16 MiB; NewCache(0) keeps nothing. See the package
	// comment, "Caching".
	Cache *Cache
	// Principal says as whom the server knows this client, if clients share a Cache: what is private is used again only for the same one. It is not sent. Clients
	// with different credentials must have different ones; a token itself should not be one.
	Principal string

	// Limits bounds what is received and held. Its MaxFrame, default 64 MiB, is the largest message
	// that the server may send; a larger one is a [*TooLargeError].
	Limits rpc.Limits
	// MaxSend is the largest message in bytes that is sent; a larger one is refused, as [framing.ErrTooLarge]. Default [mcp.DefaultMaxSend].
	MaxSend int

	// OnElicit, if set, answers what the server wants to ask the user (2026-07-28, Elicitation): in a form, or by a web page. Params.Mode is always set.
	// An accepted form's content is filled up with the defaults of the schema, and checked against it, before it is sent. Declines and cancellations
	// are results. See the package comment, "Questions", for what it may do, and what becomes of its error.
	OnElicit func(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error)
	// ElicitModes are what OnElicit can do: [mcp.ElicitForm], [mcp.ElicitURL] or both. nil is forms only. What is not here never comes to OnElicit.
	ElicitModes []string
	// OnElicitComplete, if set, is called with the id of an elicitation that OnElicit has been asked, when a server of 2025-11-25 says that the user is done on the
	// web page (Elicitation, "Completion Notifications for URL Mode Elicitation"). Once for each, as long as no more than 1,024 of them wait.
	OnElicitComplete func(elicitationID string)
	// OnSample, if set, has a model go on with a conversation for the server (2026-07-28, Sampling). The same holds as for OnElicit.
	OnSample func(ctx context.Context, params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// SampleTools says that OnSample can let the model use tools, which are params.Tools. Otherwise there are none.
	SampleTools bool
	// Roots, if not nil, are what the server is told when it asks for roots/list.
	Roots []mcp.Root
	// OnRoots, if set, is asked in place of Roots, whenever the server asks: for roots that change. See [Client.RootsChanged]. The same holds as for OnElicit.
	OnRoots func(ctx context.Context) ([]mcp.Root, error)
	// OnToolsChanged, if set, is called with the new list of tools when the server says that it has changed: once for a burst of such messages.
	// The error says why there is no list; the next change will call again.
	OnToolsChanged func(tools []*mcp.Tool, err error)
	// OnResourcesChanged and OnPromptsChanged are the same for resources and prompts. A change of the resource templates is one of the resources.
	OnResourcesChanged func(resources []*mcp.Resource, err error)
	OnPromptsChanged   func(prompts []*mcp.Prompt, err error)
	// OnListChanged, if set, is called when a list has changed that none of these three is set for, with the method that fetches it: [mcp.MethodListTools],
	// [mcp.MethodListResources] or [mcp.MethodListPrompts]. Once for a burst, too; nothing is fetched.
	OnListChanged func(method string)
	// OnResourceUpdated, if set, is called with the URI of a resource that has changed and that [Client.Subscribe] has subscribed to, or that lies below one that it
	// has: once for all changes that come while it has not been called yet. When more than 1,024 URIs wait, or 1 MiB of them, and after a time in
	// which changes may have been missed, it is called with all URIs that are subscribed to.
	OnResourceUpdated func(uri string)
	// OnLog, if set, is called with the server's log messages. At most 256 of them, of 1 MiB in all, wait for it; then the oldest are dropped.
	OnLog func(mcp.LoggingMessageParams)
	// TapLog, if set, gets the params of each log message when it arrives, before anything that the server has sent behind it is looked at: for who has to know which calls are under way
	// then. It runs on the goroutine that reads from the server, so it must neither block nor panic, nor keep params.
	TapLog func(params json.RawMessage)
	// LogLevel is from which severity on the server is asked to send log messages. "" asks for nothing: a modern server then sends none, and
	// a legacy one what it likes. See also [Client.SetLogLevel].
	LogLevel mcp.LoggingLevel

	// Logger hears of what nobody else is told: a callback that panicked, a log level that was refused. Default [slog.Default].
	Logger *slog.Logger
	// Hooks see the traffic.
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
	o.Logger = contain.Logger(o.Logger)
	o.Cache = cmp.Or(o.Cache, NewCache(defaultCache))
	if _, err := mcp.Marshal(o.Info); err != nil {
		return o, fmt.Errorf("Options.Info: %w", err)
	}
	for _, mode := range o.ElicitModes {
		if mode != mcp.ElicitForm && mode != mcp.ElicitURL {
			return o, fmt.Errorf("Options.ElicitModes: %.50q is neither %q nor %q", mode, mcp.ElicitForm, mcp.ElicitURL)
		}
	}
	if o.Output < OutputWarn || o.Output > OutputUnchecked {
		return o, fmt.Errorf("Options.Output: there is no %d", o.Output)
	}
	switch era := mcp.EraOf(o.Revision); {
	case o.Revision != "" && era == 0:
		return o, fmt.Errorf("Options.Revision %q is not known; this client speaks %q", o.Revision, mcp.Supported())
	case o.Era != 0 && era != 0 && era != o.Era:
		return o, fmt.Errorf("Options.Revision %s is not of the %v era that Options.Era wants", o.Revision, o.Era)
	case era == mcp.Legacy:
		o.Era = mcp.Legacy
	}
	return o, nil
}

func (o *Options) eraPreference() eraPreference { return eraPreference{o.Era, o.Revision} }

// Capabilities returns what a client with these options says that it can do. Servers may offer more or other tools for it.
func (o *Options) Capabilities() mcp.ClientCapabilities {
	var c mcp.ClientCapabilities
	if o.Roots != nil || o.OnRoots != nil {
		c.Roots = &mcp.RootsCapability{ListChanged: o.OnRoots != nil}
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
	return c
}

// elicits reports whether OnElicit can do that.
func (o *Options) elicits(mode string) bool {
	return slices.Contains(o.ElicitModes, mode) || o.ElicitModes == nil && mode == mcp.ElicitForm
}

// moduleVersion is the version of this module in the running program, "devel" if it does not say.
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
