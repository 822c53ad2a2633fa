package apps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Options are the settings of a [View]. What is not set is not offered to the app. The callbacks
// may run concurrently; an error that is an [*rpc.Error] is sent to the app, any other is logged,
// and the app gets -32603 "Internal error". A panic has the same effect.
type Options struct {
	// Host names the host for the app. The default is "stdwire".
	Host mcp.Implementation
	// Tool is the tool whose call the app shows; nil: not told.
	Tool *mcp.Tool
	// Context is what the app may know of the host: theme, display modes, size. The view adds the
	// tool.
	Context mcp.HostContext
	// Permissions are the features of the browser that the host grants; see [App.Allow].
	Permissions mcp.AppPermissions
	// Approve, if set, is called before each tools/call of the app. An error refuses the call. The
	// arguments are valid until it returns.
	Approve func(ctx context.Context, tool *mcp.Tool, arguments json.RawMessage) error
	// OnOpenLink, if set, opens an https or http URL for the user, who should be asked.
	OnOpenLink func(ctx context.Context, url string) error
	// OnMessage, if set, adds a message of the app to the conversation.
	OnMessage func(ctx context.Context, m mcp.AppMessageParams) error
	// OnModelContext, if set, gets what the model should know of the app. Each call replaces what
	// the one before has said.
	OnModelContext func(ctx context.Context, p mcp.ModelContextParams) error
	// OnDisplayMode, if set, changes how the app is displayed, and returns how it is now. It is
	// called only for modes in Context.AvailableDisplayModes.
	OnDisplayMode func(ctx context.Context, mode string) (string, error)
	// OnSizeChanged, if set, is called in order with the size that the app wants, in pixels.
	OnSizeChanged func(width, height float64)
	// OnLog, if set, is called in order with the log messages of the app.
	OnLog func(m mcp.LoggingMessageParams)
	// Logger logs what no error reports; nil is [slog.Default].
	Logger *slog.Logger
}

// A View is an app being shown. Its methods are safe for concurrent use.
type View struct {
	o           Options
	app         *App
	client      *client.Client
	peer        *rpc.Peer
	ready       chan struct{} // closed by ui/notifications/initialized
	initialized sync.Once     // closes ready
	turn        chan struct{} // has an element while the app is told of the call

	// guarded by turn
	hasInput bool // ui/notifications/tool-input was sent
	ended    bool // tool-result or tool-cancelled was sent

	mu      sync.Mutex
	greeted bool     // ui/initialize was answered
	modes   []string // display modes of the app; nil: any
	mode    string
}

// ErrOrder matches the error of a method of [View] that is called out of order: Input a second
// time, PartialInput after Input, or Result or Cancelled before Input or twice.
var ErrOrder = errors.New("apps: the app must hear of the input once, and then of one result")

// The limits of what an app may make its host hold.
const (
	maxMessage = 8 << 20 // bytes of a message
	maxRunning = 16      // requests at once
	maxQueued  = 256     // requests that wait, and notifications
)

// Open begins to speak with an app over a stream of messages, one a line, which the view owns. The
// app's requests go to c, the client of the server that the app was read from.
func Open(stream io.ReadWriteCloser, c *client.Client, app *App, o Options) *View {
	o.Host.Name = cmp.Or(o.Host.Name, "stdwire")
	o.Host.Version = cmp.Or(o.Host.Version, "1")
	o.Logger = contain.Logger(o.Logger)
	v := &View{o: o, app: app, client: c, ready: make(chan struct{}),
		turn: make(chan struct{}, 1), mode: cmp.Or(o.Context.DisplayMode, "inline")}
	limits := rpc.Limits{MaxRunning: maxRunning, MaxQueued: maxQueued,
		MaxQueuedBytes: 2 * maxMessage, MaxResponses: 4 * maxMessage}
	limits.MaxFrame = maxMessage
	v.peer = rpc.NewPeer(stream, rpc.Options{Handler: v.handle, Limits: limits,
		Cancellation: mcp.Cancellation(), Ordered: func(method string) bool {
			return method == mcp.MethodAppInitialize
		}})
	return v
}

// Close ends the view at once. See [View.Teardown] for a polite end.
func (v *View) Close() error { return v.peer.Close() }

// Done is closed when the stream has ended.
func (v *View) Done() <-chan struct{} { return v.peer.Done() }

// Ready is closed when the app is initialized, before which it must receive nothing.
func (v *View) Ready() <-chan struct{} { return v.ready }

// await blocks until the app is initialized.
func (v *View) await(ctx context.Context) error {
	select {
	case <-v.ready:
		return nil
	case <-v.peer.Done():
		if err := v.peer.Err(); err != nil {
			return err
		}
		return rpc.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notify sends a notification once the app is initialized.
func (v *View) notify(ctx context.Context, method string, params any) error {
	if err := v.await(ctx); err != nil {
		return err
	}
	return v.peer.Notify(ctx, method, params)
}

// tell sends a notification of the call once the app is initialized, if it is its turn: next
// reports that, and what it changes is then so.
func (v *View) tell(ctx context.Context, method string, params any, next func() bool) error {
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !next() {
		return ErrOrder
	}
	return v.notify(ctx, method, params)
}

// PartialInput tells the app of arguments that are not complete yet, a JSON object. Like all
// methods that tell the app something, it blocks until the app is initialized or ctx ends.
func (v *View) PartialInput(ctx context.Context, arguments json.RawMessage) error {
	return v.tell(ctx, mcp.NotificationToolInputPartial, mcp.ToolInputParams{Arguments: arguments},
		func() bool { return !v.hasInput })
}

// Input tells the app of the arguments of the tool call, a JSON object; nil is an empty one.
func (v *View) Input(ctx context.Context, arguments json.RawMessage) error {
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	return v.tell(ctx, mcp.NotificationToolInput, mcp.ToolInputParams{Arguments: arguments},
		func() bool {
			first := !v.hasInput
			v.hasInput = true
			return first
		})
}

// Result tells the app of the result of the tool call, as the server wrote it.
func (v *View) Result(ctx context.Context, result json.RawMessage) error {
	return v.tell(ctx, mcp.NotificationToolResult, result, v.end)
}

// Cancelled tells the app that the tool call was cancelled or has failed, and why.
func (v *View) Cancelled(ctx context.Context, reason string) error {
	return v.tell(ctx, mcp.NotificationToolCancelled, mcp.ToolCancelledParams{Reason: reason},
		v.end)
}

// end records that the call has ended, and reports false if it must not. v.turn must be held.
func (v *View) end() bool {
	if !v.hasInput || v.ended {
		return false
	}
	v.ended = true
	return true
}

// SetContext tells the app of changes of the host: the fields that are not zero. A display mode
// that the app does not support is refused with a [*ModeError].
func (v *View) SetContext(ctx context.Context, changed mcp.HostContext) error {
	if err := v.await(ctx); err != nil {
		return err
	}
	if changed.DisplayMode != "" {
		v.mu.Lock()
		supported := v.modes == nil || slices.Contains(v.modes, changed.DisplayMode)
		if supported {
			v.mode = changed.DisplayMode
		}
		v.mu.Unlock()
		if !supported {
			return &ModeError{changed.DisplayMode}
		}
	}
	return v.peer.Notify(ctx, mcp.NotificationHostContextChanged, changed)
}

// A ModeError says that an app does not support a display mode.
type ModeError struct{ Mode string }

func (e *ModeError) Error() string { return "apps: the app does not support the mode " + e.Mode }

// Teardown asks the app to save what it must, and then closes the view. It waits for the app until
// ctx ends; an app that has not been initialized is not asked. The error is that of the app.
func (v *View) Teardown(ctx context.Context) error {
	var err error
	select {
	case <-v.ready:
		err = v.peer.Call(ctx, mcp.MethodResourceTeardown, struct{}{}, nil)
	default:
	}
	_ = v.peer.Close()
	return err
}
