// Package contain runs functions of the application and turns a panic or a runtime.Goexit in them
// into an error. Public packages run every callback through it.
package contain

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// A PanicError says why a function did not return.
type PanicError struct {
	Value any    // the value of the panic; nil for runtime.Goexit
	Stack []byte // the stack at the panic; nil for runtime.Goexit
}

var errExited = errors.New("runtime.Goexit was called")

func (e *PanicError) Error() string { return e.Unwrap().Error() }

// String returns the text of Value, for a log.
func (e *PanicError) String() string {
	if e.Stack == nil {
		return errExited.Error()
	}
	return strings.TrimPrefix(e.Error(), "panic: ")
}

// Unwrap returns an error that wraps Value if that is an error. Its text can be read even if a
// method of Value panics.
func (e *PanicError) Unwrap() (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("panic: a %T that cannot be printed", e.Value)
		}
	}()
	if e.Stack == nil {
		return errExited
	}
	if cause, ok := e.Value.(error); ok {
		return fmt.Errorf("panic: %w", cause)
	}
	return fmt.Errorf("panic: %v", e.Value)
}

// Call runs f on this goroutine and returns nil, or the panic of f. It does not allocate. A
// runtime.Goexit in f ends the goroutine: the caller must defer its cleanup.
func Call(f func()) (failure *PanicError) {
	defer func() {
		if value := recover(); value != nil {
			failure = &PanicError{value, debug.Stack()}
		}
	}()
	f()
	return nil
}

// Run runs f on a new goroutine and waits until it ends. It returns nil, or the reason that f did
// not return. It is for callers whose goroutine must not end.
func Run(f func()) *PanicError {
	ended := make(chan *PanicError, 1)
	go func() {
		failure := new(PanicError) // returned if f calls runtime.Goexit
		defer func() { ended <- failure }()
		failure = Call(f)
	}()
	return <-ended
}

// Do is [Run] for a function that returns an error. It returns the error of f, or why f did not
// return.
func Do(f func() error) (err error) {
	if failure := Run(func() { err = f() }); failure != nil {
		return failure
	}
	return err
}
