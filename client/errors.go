package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ExitError says how a server's process ended: its exit status or signal, and the last line it wrote to stderr that says something.
type ExitError = child.ExitError

// SpawnError says why a process could not be started: the program does not exist, may not be executed, or is not on the PATH, which it names.
type SpawnError = child.StartError

// A StartError says why there is no connection: Spawn and Connect return no other. What it wraps tells the cases apart, with [errors.As]:
//
//	*SpawnError    there is no process
//	*ExitError     the process ended before it had answered
//	*TimeoutError  no answer within Options.StartTimeout or the deadline of the context
//	*LostError     the connection ended before there was an answer; with an *ExitError in it if it was a process
//	*rpc.Error     the server refused the handshake
//
// Or, with [errors.Is]: the context's error; [rpc.ErrProtocol] for an answer that is none, or a revision that is not known here.
type StartError struct {
	Server string // Options.Name
	Stderr string // the last of what the process wrote to stderr, fit to be printed; "" without a process
	Hint   string // a way out, if one can be told; not part of the text
	Err    error
}

func (e *StartError) Error() string { return fmt.Sprintf("server %q: %v", e.Server, e.Err) }
func (e *StartError) Unwrap() error { return e.Err }

// A CallError says why a call failed: every method that calls the server returns it. What it wraps tells the cases apart, with [errors.As]:
//
//	*rpc.Error           the server answered with an error
//	*UndeclaredError     the server does not say that it can do that, and was not asked
//	*InputRequiredError  the server wants to know something first
//	*QuestionError       a callback in Options did not answer the server's question
//	*OutputError         a tool's result does not fit its outputSchema, with [OutputFail]
//	*RoundsError         the server has asked too many times
//	*TaskCancelledError  the call has become a task, which was cancelled
//	*TimeoutError        time ran out; [context.DeadlineExceeded] matches too
//	*LostError           the connection ended before the answer came
//	*TooLargeError       the server has sent a message larger than Options.Limits.MaxFrame (matches framing.ErrTooLarge)
//	*framing.FrameError  the request is larger than Options.MaxSend and was not sent (matches framing.ErrTooLarge)
//
// Or, with [errors.Is]: [context.Canceled]; [rpc.ErrClosed] after Close, and for a LostError; [rpc.ErrProtocol] for an answer that breaks the
// protocol. A tool that fails is no error at all, but a result with IsError set.
type CallError struct {
	Server string // Options.Name
	Method string
	Tool   string // of tools/call
	Name   string // of resources/read and its like the URI, of prompts/get the prompt
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

// An UndeclaredError says that the server's capabilities do not have what a call needs. Nothing was sent: some servers take it badly to be asked for
// what they do not know. It matches [rpc.ErrMethodNotFound], as the error of a server that declares what it does not have. [Client.Call] and the calls
// of tools send whatever the server declares.
type UndeclaredError struct {
	Capability string // such as "resources" or "resources.subscribe"
}

func (e *UndeclaredError) Error() string {
	return fmt.Sprintf("the server does not declare the capability %s, and was not asked", e.Capability)
}
func (e *UndeclaredError) Is(target error) bool { return target == rpc.ErrMethodNotFound }

// A TimeoutError says that the time for an answer ran out. It matches [context.DeadlineExceeded].
type TimeoutError struct {
	Waiting string        // what is not answered, if that is not the call itself: the requests of the handshake
	After   time.Duration // since the request was sent
	Silence time.Duration // since the server last sent anything at all, this answer or another; negative if it never did
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
	return fmt.Sprintf("%s after %s; %s", what, round(e.After), silence)
}

// Timeout reports true, as a net.Error does.
func (e *TimeoutError) Timeout() bool        { return true }
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// round shows a duration to three digits or so.
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

// A LostError says that the connection ended without our doing. It matches [rpc.ErrClosed].
type LostError struct {
	Exit  *ExitError // how the process ended; nil if there is none, or it did not end by itself
	Err   error      // what ended the connection: io.EOF if the server closed it, a *TooLargeError if it was closed here for that
	early bool       // before it had answered at all
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

func (e *LostError) Is(target error) bool { return target == rpc.ErrClosed }

func (e *LostError) Unwrap() []error {
	if e.Exit == nil {
		return []error{e.Err}
	}
	return []error{e.Exit, e.Err}
}

// An InputRequiredError is what a modern server answers when it has to know something before it can go on (2026-07-28, Multi Round-Trip
// Requests), and the client cannot answer by itself: because there is no callback in [Options] for one of the questions, or the call was made [ByHand].
// Make the call again, with [Answers]; or if there is a Task, go on with that.
type InputRequiredError struct {
	Result *mcp.InputRequiredResult
	Raw    []byte // the result as the server wrote it: of the call, or of tasks/get
	Task   *Task  // what asks if the call has become a task, which goes on: answer with [Task.Update], then [Task.Wait]; or [Task.Cancel]
}

func (e *InputRequiredError) Error() string {
	return fmt.Sprintf("the server wants input first (%d requests)", len(e.Result.InputRequests))
}

// A QuestionError says why a question of the server's was not answered: the callback in [Options] has failed or panicked (an [*rpc.PanicError]), what it
// returned is no answer, or what it was to be asked makes no sense (which matches [rpc.ErrProtocol]).
type QuestionError struct {
	Key    string // the question's name in InputRequiredResult, or in the state of a task; or the elicitation's id in a refusal with -32042
	Method string // elicitation/create, sampling/createMessage or roots/list
	Err    error
}

func (e *QuestionError) Error() string {
	return fmt.Sprintf("the server's question %q (%s) was not answered: %v", e.Key, e.Method, e.Err)
}
func (e *QuestionError) Unwrap() error { return e.Err }

// A RoundsError says that the server was answered again and again, and still has not given a result.
type RoundsError struct {
	Rounds int                 // how many times; in a task, some questions may have been answered together
	Last   *InputRequiredError // what it wants now
}

func (e *RoundsError) Error() string {
	return fmt.Sprintf("the server has been answered %d times and still gives no result: %v", e.Rounds, e.Last)
}

// A TaskCancelledError says that a task was cancelled: by [Task.Cancel], by somebody else, or by the server.
type TaskCancelledError struct {
	ID      string // of the task
	Message string // what the server says about it; often ""
}

func (e *TaskCancelledError) Error() string {
	text := fmt.Sprintf("the task %.100q was cancelled", e.ID)
	if e.Message != "" {
		text += fmt.Sprintf(": %.500q", e.Message)
	}
	return text
}

// A saying is an error with a text of its own in place of that of the error it wraps.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// errClosed is the error of calls on a client that was closed.
var errClosed error = &textError{"the client is closed", rpc.ErrClosed}

// protocolError returns an error that matches [rpc.ErrProtocol].
func protocolError(format string, args ...any) error {
	return &textError{fmt.Sprintf(format, args...), rpc.ErrProtocol}
}

// startError makes an error of the start one that says all there is to say.
func (o *Options) startError(err error, stderr string) *StartError {
	e := &StartError{Server: o.Name, Stderr: stderr, Err: err}
	if spawn, ok := errors.AsType[*SpawnError](err); ok {
		e.Hint = spawn.Hint
	} else if exit, ok := errors.AsType[*ExitError](err); ok {
		e.Hint = exit.Hint
	} else if _, ok := errors.AsType[*TimeoutError](err); ok {
		e.Hint = "raise Options.StartTimeout if the server takes that long, as it may when npx or uvx has to download it; or look whether the program is an MCP server at all"
	} else if _, ok := errors.AsType[*LostError](err); ok && o.Era == 0 {
		e.Hint = "an old server may hang up on a probe that it does not know: try the legacy era"
	}
	return e
}
