package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A frame is an app that the page shows. The page relays what the app says to it, one message a
// line, and reads its events.
type frame struct {
	id           string
	server, tool string
	recorder     *tap.Recorder
	view         *apps.View // set before the page knows of the frame
	call         chan int64 // the call that the app is shown for, once
	hasCall      atomic.Bool

	inbound    *io.PipeReader // the messages of the app, for view
	inboundEnd *io.PipeWriter
	events     chan frameEvent
	end        sync.Once
	ended      chan struct{}
	taken      atomic.Bool // the page reads the events
}

// A frameEvent is something that the page must do for an app. One field is set.
type frameEvent struct {
	Message json.RawMessage           `json:"message,omitempty"` // to send to the app
	Mode    string                    `json:"mode,omitempty"`    // how to display it
	Size    *frameSize                `json:"size,omitempty"`
	Log     *mcp.LoggingMessageParams `json:"log,omitempty"`
	Said    *mcp.AppMessageParams     `json:"said,omitempty"`
	Context *mcp.ModelContextParams   `json:"context,omitempty"` // replaces the one before
}

// A frameSize is the size that an app asks for, in pixels; zero is unknown.
type frameSize struct {
	Width  float64 `json:"width,omitempty"`
	Height float64 `json:"height,omitempty"`
}

const (
	maxEvents = 64 // that wait for the page; the app is not served meanwhile
	// how long the page may take to read the events of a new frame, and an app to answer it
	frameWait  = 30 * time.Second
	answerWait = 2 * time.Second
)

func newFrame(id string, r *tap.Recorder) *frame {
	f := &frame{id: id, recorder: r, call: make(chan int64, 1),
		events: make(chan frameEvent, maxEvents), ended: make(chan struct{})}
	f.inbound, f.inboundEnd = io.Pipe()
	return f
}

// Read reads the messages of the app, for the view.
func (f *frame) Read(to []byte) (int, error) { return f.inbound.Read(to) }

// Write sends messages of the view, which are whole lines, to the app.
func (f *frame) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		f.recorder.Server.Frame(line)
		if !f.emit(frameEvent{Message: bytes.Clone(line)}) {
			return 0, io.ErrClosedPipe
		}
	}
	return len(lines), nil
}

// Close ends the frame.
func (f *frame) Close() error {
	f.end.Do(func() {
		close(f.ended)
		_ = f.inboundEnd.Close()
		_ = f.inbound.Close()
	})
	return nil
}

// emit passes an event to the page, and reports false if the frame has ended.
func (f *frame) emit(e frameEvent) bool {
	select {
	case f.events <- e:
		return true
	case <-f.ended:
		return false
	}
}

// callbacks sets what the app may ask of the page.
func (f *frame) callbacks(o *apps.Options) {
	o.OnSizeChanged = func(width, height float64) {
		f.emit(frameEvent{Size: &frameSize{width, height}})
	}
	o.OnDisplayMode = func(_ context.Context, mode string) (string, error) {
		f.emit(frameEvent{Mode: mode})
		return mode, nil
	}
	o.OnLog = func(m mcp.LoggingMessageParams) { f.emit(frameEvent{Log: &m}) }
	o.OnMessage = func(_ context.Context, m mcp.AppMessageParams) error {
		f.emit(frameEvent{Said: &m})
		return nil
	}
	o.OnModelContext = func(_ context.Context, p mcp.ModelContextParams) error {
		f.emit(frameEvent{Context: &p})
		return nil
	}
}

// receive passes messages of the app to the view, in order. It blocks until the view has read them.
func (f *frame) receive(messages []json.RawMessage) error {
	for _, m := range messages {
		line, err := jsonscan.AppendCompact(nil, m)
		if err != nil {
			return command.BadArgs("%v", err)
		}
		f.recorder.Client.Frame(line)
		if _, err := f.inboundEnd.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

var errFrameTaken = &command.Failure{Code: "denied", Why: "another page shows this app"}

// serve writes the events as Server-Sent Events until the frame ends or the page disconnects, which
// ends the frame.
func (f *frame) serve(w http.ResponseWriter, r *http.Request) {
	if f.taken.Swap(true) {
		reply.Fail(w, errFrameTaken)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	write := func(format string, args ...any) bool {
		err := control.SetWriteDeadline(time.Now().Add(changes.WriteTimeout))
		if err == nil {
			_, err = fmt.Fprintf(w, format, args...)
		}
		return err == nil && control.Flush() == nil
	}
	heartbeat := time.NewTicker(changes.Heartbeat)
	defer heartbeat.Stop()
	for alive := write(": begin\n\n"); alive; {
		select {
		case e := <-f.events:
			text, err := json.Marshal(e)
			alive = err == nil && write("data: %s\n\n", text)
		case <-heartbeat.C:
			alive = write(": alive\n\n")
		case <-f.ended:
			return
		case <-r.Context().Done():
			return
		}
	}
}

var errHasInput = &command.Failure{Code: "denied", Why: "the app is shown for a call already",
	Hint: "stage the input again"}

// write tells the app of the part of the arguments that is written, for an app that is shown before
// its call is made.
func (f *frame) write(ctx context.Context, arguments json.RawMessage, percent int) error {
	object, err := jsonscan.AppendCompact(nil, arguments)
	if err != nil || object[0] != '{' || percent < 0 || percent > 100 {
		return command.BadArgs("the arguments must be an object, and written by 0 to 100 percent")
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	written := int64(len(object)) * int64(percent) / 100
	err = f.view.PartialInput(ctx, recoverPartial(object, int(written)))
	if errors.Is(err, apps.ErrOrder) {
		return errHasInput
	}
	return err
}

// setCall sets the call whose arguments and result the app is told of. It fails if there is one.
func (f *frame) setCall(call int64) error {
	if f.hasCall.Swap(true) {
		return errHasInput
	}
	f.call <- call
	return nil
}

// follow tells the app of its call.
func (f *frame) follow(ctx context.Context, calls *calls) {
	var id int64
	select {
	case id = <-f.call:
	case <-ctx.Done():
		return
	}
	call, err := calls.get(id)
	if err != nil {
		return
	}
	arguments := json.RawMessage(jsonscan.Member(call.Request.Params, "arguments"))
	if f.view.Input(ctx, arguments) != nil {
		return
	}
	select {
	case <-call.done:
	case <-f.ended:
		return
	}
	call, err = calls.get(id)
	switch {
	case err != nil:
		_ = f.view.Cancelled(ctx, "the call is not known any more")
	case call.Error != nil:
		_ = f.view.Cancelled(ctx, call.Error.Message)
	default:
		_ = f.view.Result(ctx, call.Result)
	}
}

// change tells the app of a change of the page, if the app is initialized within answerWait. A
// display mode that the app does not support is a bad argument.
func (f *frame) change(ctx context.Context, changed mcp.HostContext) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	err := f.view.SetContext(ctx, changed)
	if errors.Is(err, apps.ErrMode) {
		return command.BadArgs("%v", err)
	}
	return err
}
