package apps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Options are the settings of a [View]. A feature whose field is not set is not offered to the app.
// The callbacks may run concurrently. If the error of a callback is an [*rpc.Error], it is sent to
// the app; any other error is logged, and the app gets -32603 "Internal error". A panic has the
// same effect.
type Options struct {
	// Host names the host for the app. The default is "stdwire".
	Host mcp.Implementation
	// Tool is the tool whose call the app shows; nil: the app is not told.
	Tool *mcp.Tool
	// Context describes the host to the app: theme, display modes, size. The view adds the tool.
	Context mcp.HostContext
	// Permissions are the features of the browser that the host grants; see [App.Allow].
	Permissions mcp.AppPermissions
	// Approve, if set, is called before each tools/call of the app. An error refuses the call. The
	// arguments are valid until it returns. It should ask the user if [Destructive] reports true.
	Approve func(ctx context.Context, tool *mcp.Tool, arguments json.RawMessage) error
	// OnOpenLink, if set, opens an https or http URL for the user. It should ask the user first.
	OnOpenLink func(ctx context.Context, url string) error
	// OnMessage, if set, adds a message of the app to the conversation.
	OnMessage func(ctx context.Context, m mcp.AppMessageParams) error
	// OnModelContext, if set, gets the information that the model should have about the app. Each
	// call replaces that of the preceding call.
	OnModelContext func(ctx context.Context, p mcp.ModelContextParams) error
	// OnDisplayMode, if set, changes the display mode of the app, and returns the resulting mode.
	// It is called only for modes in Context.AvailableDisplayModes.
	OnDisplayMode func(ctx context.Context, mode string) (string, error)
	// OnSizeChanged, if set, is called in order with the size that the app wants, in pixels.
	OnSizeChanged func(width, height float64)
	// OnLog, if set, is called in order with the log messages of the app.
	OnLog func(m mcp.LoggingMessageParams)
	// Logger logs events that no error reports; nil is [slog.Default].
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
	turn        chan struct{} // holds a value while the app is sent a message about the call

	// guarded by turn
	hasInput bool // ui/notifications/tool-input was sent
	ended    bool // tool-result or tool-cancelled was sent

	mu            sync.Mutex
	gotInitialize bool     // ui/initialize was answered
	modes         []string // display modes of the app; nil: any
	mode          string
}

// ErrOrder matches the error of a method of [View] that is called out of order: Input a second
// time, PartialInput after Input, or Result or Cancelled before Input or twice.
var ErrOrder = errors.New("apps: send the input once, then one result")

// ErrMode matches the error of [View.SetContext] for a display mode that the app does not support.
var ErrMode = errors.New("apps: the app does not support the mode")

// The limits on the memory that an app can make its host use.
const (
	maxMessage = 8 << 20 // bytes of a message
	maxRunning = 16      // requests at once
	maxQueued  = 256     // requests that wait, and notifications
)

// Open starts to exchange messages with an app over a stream, one message per line. The view owns
// the stream. The app's requests go to c, which must be a client of the app's server.
func (o Options) Open(stream io.ReadWriteCloser, c *client.Client, app *App) *View {
	o.Host.Name = cmp.Or(o.Host.Name, "stdwire")
	o.Host.Version = cmp.Or(o.Host.Version, "1")
	o.Logger = lograte.Logger(o.Logger)
	v := &View{o: o, app: app, client: c, ready: make(chan struct{}),
		turn: make(chan struct{}, 1), mode: cmp.Or(o.Context.DisplayMode, "inline")}
	limits := rpc.Limits{MaxRunning: maxRunning, MaxQueued: maxQueued,
		MaxQueuedBytes: 2 * maxMessage, MaxResponses: 4 * maxMessage}
	limits.MaxFrame = maxMessage
	v.peer = rpc.Options{Handler: v.handle, Limits: limits,
		Cancellation: mcp.Cancellation(), Drain: -1, Ordered: func(method string) bool {
			return method == mcp.MethodAppInitialize
		}}.New(stream)
	return v
}

// Close ends the view at once. To let the app save its state first, call [View.Teardown].
func (v *View) Close() error { return v.peer.Close() }

// Done returns a channel that is closed when the stream has ended.
func (v *View) Done() <-chan struct{} { return v.peer.Done() }

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

// tell sends a notification about the call once the app is initialized. inOrder reports whether the
// state of the call allows it. sent changes the state, unless sending has failed: then the caller
// may try again.
func (v *View) tell(ctx context.Context, method string, params any, inOrder func() bool,
	sent func()) error {
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !inOrder() {
		return ErrOrder
	}
	err := v.notify(ctx, method, params)
	if err == nil {
		sent()
	}
	return err
}

// PartialInput sends the app incomplete arguments, a JSON object. Like all methods that send the
// app something, it blocks until the app is initialized or ctx ends.
func (v *View) PartialInput(ctx context.Context, arguments json.RawMessage) error {
	return v.tell(ctx, mcp.NotificationToolInputPartial, toolInputParams{Arguments: arguments},
		func() bool { return !v.hasInput }, func() {})
}

// Input sends the app the arguments of the tool call, a JSON object; nil means an empty object.
func (v *View) Input(ctx context.Context, arguments json.RawMessage) error {
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	return v.tell(ctx, mcp.NotificationToolInput, toolInputParams{Arguments: arguments},
		func() bool { return !v.hasInput }, func() { v.hasInput = true })
}

// Result sends the app the result of the tool call, as the server wrote it.
func (v *View) Result(ctx context.Context, result json.RawMessage) error {
	return v.tell(ctx, mcp.NotificationToolResult, result, v.canEnd,
		func() { v.ended = true })
}

// Cancelled tells the app that the tool call was cancelled or has failed, and the reason.
func (v *View) Cancelled(ctx context.Context, reason string) error {
	return v.tell(ctx, mcp.NotificationToolCancelled, toolCancelledParams{Reason: reason},
		v.canEnd, func() { v.ended = true })
}

// canEnd reports whether the call has input and has not ended. v.turn must be held.
func (v *View) canEnd() bool { return v.hasInput && !v.ended }

// SetContext sends the app changes of the host context: the fields that are not zero. It returns
// [ErrMode] for a display mode that the app does not support.
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
			return fmt.Errorf("%w %s", ErrMode, changed.DisplayMode)
		}
	}
	return v.peer.Notify(ctx, mcp.NotificationHostContextChanged, changed)
}

// Teardown asks the app to save its state, and then closes the view. It waits for the app until ctx
// ends; it does not ask an app that has not been initialized. The error is that of the app.
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
