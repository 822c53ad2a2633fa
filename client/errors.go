package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

// An ExitError says how the process of a server ended.
type ExitError struct {
	Status int       // the exit status, or -1 if a signal ended it
	Signal os.Signal // the signal that ended it, or nil

	Stopped     bool // the client ended it
	BeforeReady bool // it ended before the handshake was done

	// Unread says that the process had read nothing of its stdin, so that nothing sent to it is why
	// it ended. Systems other than Linux do not detect this.
	Unread bool

	// Held says that another process, which the server started and left behind, held the server's
	// stdout open after the exit. Systems other than Linux detect only one that left the group.
	Held bool

	// LastStderr is the last informative line of stderr, in printable form and at most 256
	// characters long. Stack frames, advice such as usage, and the lines that Node.js, npm and Go
	// always write last are passed over.
	LastStderr string

	// Hint says how to fix a known cause found in stderr, such as a package that does not exist,
	// or is empty. It is not part of the text.
	Hint string

	// Err is set if the exit status is unknown because other code reaped the process.
	Err error
}

func (e *ExitError) Error() string { return (*child.ExitError)(e).Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// A SpawnError says that a process could not be started: the program does not exist, is not
// executable, or is not on the PATH.
type SpawnError struct {
	Command string
	Dir     string // the working directory, absolute unless it is unknown
	Path    string // the PATH that was searched; "" if Command is a path; not part of the text
	Hint    string // how to fix it, or empty; not part of the text
	Err     error
}

func (e *SpawnError) Error() string { return (*child.StartError)(e).Error() }
func (e *SpawnError) Unwrap() error { return e.Err }

// A StartError reports that there is no connection. It is the only error of Spawn and Connect. Use
// [errors.As] to find the cause that it wraps:
//
//	*SpawnError    there is no process
//	*ExitError     the process ended before it had answered
//	*TimeoutError  no answer within Options.StartTimeout or the deadline of the context
//	*LostError     the connection ended before an answer; wraps an *ExitError for a process
//	*rpc.Error     the server refused the handshake
//
// It matches, with [errors.Is], the error of the context, and [rpc.ErrProtocol] for an invalid
// answer or an unknown revision.
type StartError struct {
	Server string // Options.Name
	Stderr string // the end of the process's stderr, safe to print; "" without a process
	Hint   string // a remedy, if one is known; not part of Error
	Stats  Stats  // of what the server has sent
	Err    error
}

func (e *StartError) Error() string { return fmt.Sprintf("server %q: %s", e.Server, e.Reason()) }

// Reason returns the text of Err, and the first line that the server wrote to stdout although it is
// not a message: it is often the cause.
func (e *StartError) Reason() string {
	text := e.Err.Error()
	switch n := e.Stats.Junk; {
	case n == 1:
		text += fmt.Sprintf("; it wrote a line to stdout that is not a message: %q",
			e.Stats.Samples[0])
	case n > 1:
		text += fmt.Sprintf("; it wrote %d lines to stdout that are not messages, the first: %q", n,
			e.Stats.Samples[0])
	}
	return text
}
func (e *StartError) Unwrap() error { return e.Err }

// A CallError reports that a call failed. Every method that calls the server returns it. Use
// [errors.As] to find the cause that it wraps:
//
//	*rpc.Error           the server answered with an error
//	*InputRequiredError  the server wants to know something first
//	*QuestionError       a callback in Options did not answer the server's question
//	*OutputError         a tool's result does not fit its outputSchema, with [OutputFail]
//	*TimeoutError        time ran out; [context.DeadlineExceeded] matches too
//	*LostError           the connection ended before the answer came
//	*TooLargeError       the server sent a message over Options.Limits.MaxFrame
//	                     (matches framing.ErrTooLarge)
//	*framing.FrameError  the request is over Options.MaxSend and was not sent
//	                     (matches framing.ErrTooLarge)
//
// It matches, with [errors.Is], [context.Canceled]; [rpc.ErrClosed] after Close and for a
// LostError; [rpc.ErrProtocol] for an answer that breaks the protocol; [ErrUndeclared] if the
// server does not say that it can do that, and was not asked; [ErrRounds] if it has asked too many
// times; and [ErrTaskCancelled] if the call has become a task, which was cancelled. A tool that
// fails is not an error, but a result with IsError set.
type CallError struct {
	Server string // Options.Name
	Method string
	Tool   string // of tools/call
	Name   string // the URI of resources/read and similar requests, the prompt of prompts/get
	Err    error
}

func (e *CallError) Error() string {
	if e.Tool != "" {
		return fmt.Sprintf("server %q: tool %q: %v", e.Server, e.Tool, e.Err)
	}
	if e.Name != "" {
		return fmt.Sprintf("server %q: %s %q: %v", e.Server, e.Method, e.Name, e.Err)
	}
	return fmt.Sprintf("server %q: %s: %v", e.Server, e.Method, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// ErrUndeclared matches the error of a call that needs a capability that the server does not
// declare. The request was not sent, because some servers mishandle unknown methods. The error
// names the capability, and matches [rpc.ErrMethodNotFound] too. [Client.Call] and calls of tools
// are sent whatever the server declares.
var ErrUndeclared = errors.New("the server does not declare the capability")

// An undeclaredError matches ErrUndeclared.
type undeclaredError struct {
	capability string // such as "resources" or "resources.subscribe"
}

func (e *undeclaredError) Error() string {
	return fmt.Sprintf("%v %s, and was not asked", ErrUndeclared, e.capability)
}
func (e *undeclaredError) Is(target error) bool {
	return target == ErrUndeclared || target == rpc.ErrMethodNotFound
}

// A TimeoutError reports that no response arrived in time. It matches [context.DeadlineExceeded].
type TimeoutError struct {
	// the requests without a response, if not the call itself: those of the handshake, for example
	Waiting string
	After   time.Duration // since the request was sent
	Silence time.Duration // since the server last sent anything; negative if it never did
	// responses so far that have the id of no request, of which one may be the missing one
	Unmatched int
}

func (e *TimeoutError) Error() string {
	silence := "the server has sent nothing at all"
	if e.Silence >= 0 {
		silence = "the server last sent something " + round(e.Silence) + " ago"
	}
	what := "no answer"
	if e.Waiting != "" {
		what += " to " + e.Waiting
	}
	text := fmt.Sprintf("%s after %s; %s", what, round(e.After), silence)
	if e.Unmatched > 0 {
		text += fmt.Sprintf("; %d of its responses match no request by their id", e.Unmatched)
	}
	return text
}

func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// round formats a duration with about three digits.
func round(d time.Duration) string {
	unit := time.Millisecond
	switch {
	case d > 10*time.Second:
		unit = time.Second
	case d > 500*time.Millisecond:
		unit = 100 * time.Millisecond
	}
	return d.Round(unit).String()
}

// A LostError reports that the connection ended, but not by Close. It matches [rpc.ErrClosed].
type LostError struct {
	Exit *ExitError // how the process ended; nil without a process, or if the client ended it
	// io.EOF if the server closed the connection, a *TooLargeError if the client did
	Err   error
	early bool // before any response
}

func (e *LostError) Error() string {
	when := ""
	if e.early {
		when = " before answering"
	}
	switch {
	case e.Exit != nil:
		how := *e.Exit
		how.LastStderr = ""
		text := how.Error() + when
		if e.Exit.LastStderr != "" {
			text += `: "` + e.Exit.LastStderr + `"`
		}
		return text
	case e.Err == io.EOF:
		return "closed the connection" + when
	}
	return fmt.Sprintf("the connection broke%s: %v", when, e.Err)
}

func (e *LostError) Unwrap() []error {
	if e.Exit == nil {
		return []error{rpc.ErrClosed, e.Err}
	}
	return []error{rpc.ErrClosed, e.Exit, e.Err}
}

// A QuestionError reports that an input request was not answered: the callback in [Options] failed
// or panicked (an [*rpc.PanicError]), its result is invalid, or the request is invalid (which
// matches [rpc.ErrProtocol]).
type QuestionError struct {
	// the key in the InputRequiredResult or in the task's state; or the elicitation's id in error
	// -32042
	Key    string
	Method string // elicitation/create, sampling/createMessage or roots/list
	Err    error
}

func (e *QuestionError) Error() string {
	return fmt.Sprintf("the server's question %q (%s) was not answered: %v", e.Key, e.Method, e.Err)
}
func (e *QuestionError) Unwrap() error { return e.Err }

// ErrRounds matches the error of a call for which the server requested input too many times. The
// error has the number of answers that were sent.
var ErrRounds = errors.New("the server requests input again and again")

// A roundsError matches ErrRounds.
type roundsError struct {
	rounds int   // number of answers sent; in a task, one may answer several requests
	last   error // the latest request: an *InputRequiredError
}

func (e *roundsError) Error() string {
	return fmt.Sprintf("the server has been answered %d times and still gives no result: %v",
		e.rounds, e.last)
}
func (e *roundsError) Is(target error) bool { return target == ErrRounds }

// An InvalidItemsError is the cause of the [CallError] that ends a list of which some elements are
// invalid. The others were yielded before it. It matches [rpc.ErrProtocol].
type InvalidItemsError struct {
	Count int           // invalid elements
	Items []InvalidItem // the first 10 of them
}

// An InvalidItem is an element of a list that is invalid.
type InvalidItem struct {
	Name string // or the URI, printable and truncated; "" if it has none
	Err  error
}

const (
	maxInvalidItems = 10
	maxInvalidName  = 200 // bytes
)

func (e *InvalidItemsError) Error() string {
	var b strings.Builder
	for i, item := range e.Items {
		if i > 0 {
			b.WriteString("; ")
		}
		if item.Name == "" {
			fmt.Fprintf(&b, "an element is invalid: %v", item.Err)
		} else {
			fmt.Fprintf(&b, "%q is invalid: %v", item.Name, item.Err)
		}
	}
	if rest := e.Count - len(e.Items); rest > 0 {
		fmt.Fprintf(&b, "; and %d more", rest)
	}
	return b.String()
}

func (e *InvalidItemsError) Is(target error) bool { return target == rpc.ErrProtocol }

// add adds an element, which is valid JSON.
func (e *InvalidItemsError) add(element []byte, err error) {
	if e.Count++; len(e.Items) == maxInvalidItems {
		return
	}
	name, _ := jsonscan.Text(jsonscan.Member(element, "name"))
	if name == "" {
		name, _ = jsonscan.Text(jsonscan.Member(element, "uri"))
	}
	if decoding, ok := errors.AsType[*jsonexact.DecodeError](err); ok {
		// without the path and offset in the text that was decoded
		if _, path, ok := strings.Cut(decoding.Path, "[0]."); ok {
			err = errtext.Wrap(path+": "+decoding.Err.Error(), err)
		} else {
			err = decoding.Err
		}
	}
	e.Items = append(e.Items,
		InvalidItem{printable.TruncateBytes(printable.Line(name), maxInvalidName), err})
}

// ErrTaskCancelled matches the error of a task that was cancelled, by [Task.Cancel], another client
// or the server. The error has the ID of the task and the server's statusMessage.
var ErrTaskCancelled = errors.New("the task was cancelled")

// A taskCancelledError matches ErrTaskCancelled.
type taskCancelledError struct {
	id      string // of the task
	message string // the server's statusMessage, often ""
}

func (e *taskCancelledError) Error() string {
	text := fmt.Sprintf("the task %.100q was cancelled", e.id)
	if e.message != "" {
		text += fmt.Sprintf(": %.500q", e.message)
	}
	return text
}
func (e *taskCancelledError) Is(target error) bool { return target == ErrTaskCancelled }

// errClosed is the error of calls after Close.
var errClosed error = errtext.Wrap("the client is closed", rpc.ErrClosed)

// errUnwanted is the cancellation cause of requests whose response nobody wants any more.
var errUnwanted = errors.New("cancelled by the client")

// A TooLargeError says that the server has sent a message larger than Options.Limits.MaxFrame. It
// matches [framing.ErrTooLarge]. Over HTTP it fails the call that the message responds to. On a
// stream, that call is unknown, so the connection ends, and a [*LostError] wraps it.
type TooLargeError struct {
	Size  int64 // bytes read
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf(
		"the server sent a message of %d bytes or more, over the limit of %d (Options.Limits.MaxFrame)",
		e.Size, e.Limit)
}

func (e *TooLargeError) Is(target error) bool { return target == framing.ErrTooLarge }

// ErrSessionLost is the error with which a transport fails a request that the server did not
// process because the session no longer exists (2025-11-25, Transports, "Session Management"). The
// client then starts a new session and sends the request again.
var ErrSessionLost = errors.New("the server has forgotten the session")

// ErrSessionRefused matches the error with which a transport fails a request that the server
// refused without processing it, for a reason that may be that the session no longer exists. If the
// server refuses a ping too and begins a new session, the client sends the request again, once; if
// not, the call fails with the error as it is.
var ErrSessionRefused = errors.New("the server may have forgotten the session")

// convertReadError converts the error of a frame that is too large into a TooLargeError, which ends
// the connection: otherwise the call that it responds to would wait forever.
func convertReadError(err error) error {
	if frame, ok := errors.AsType[*framing.FrameError](err); ok &&
		frame.Err == framing.ErrTooLarge {
		return &TooLargeError{frame.Size, frame.Limit}
	}
	if lost, ok := errors.AsType[*framing.SyncError](err); ok && lost.Err == framing.ErrTooLarge {
		return &TooLargeError{lost.Size, lost.Limit}
	}
	return err
}

// An OutputError says that the result of a tool does not match its outputSchema. The tool has run.
// It matches [rpc.ErrProtocol].
type OutputError struct {
	Result json.RawMessage // the complete result as the server wrote it
	Err    error           // a [*schema.Error], or that structuredContent is missing
}

func (e *OutputError) Error() string {
	return "its result does not fit its outputSchema: " + printable.Line(e.Err.Error())
}

func (e *OutputError) Unwrap() []error { return []error{e.Err, rpc.ErrProtocol} }
