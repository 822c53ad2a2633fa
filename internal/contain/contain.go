// Package contain runs functions of the application and contains what they do to their goroutine: a
// panic and a runtime.Goexit become errors. Every callback that a public package takes is run by
// it.
package contain

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// A PanicError is what kept a function from returning.
type PanicError struct {
	Value any    // what it panicked with; nil if it called runtime.Goexit
	Stack []byte // where it panicked; nil if it called runtime.Goexit
}

var errExited = errors.New("runtime.Goexit was called")

func (e *PanicError) Error() string { return e.Unwrap().Error() }

// String returns what Value prints as, for a log.
func (e *PanicError) String() string {
	if e.Stack == nil {
		return errExited.Error()
	}
	return strings.TrimPrefix(e.Error(), "panic: ")
}

// Unwrap returns an error that wraps Value if that is one, and can be printed even if Value panics
// when it is printed.
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

// Call runs f on this goroutine and returns nil, or what f panicked with. It costs no allocation. A
// runtime.Goexit in f ends the goroutine: what has to happen all the same must be deferred by the
// caller.
func Call(f func()) (failure *PanicError) {
	defer func() {
		if value := recover(); value != nil {
			failure = &PanicError{value, debug.Stack()}
		}
	}()
	f()
	return nil
}

// Run runs f on a goroutine of its own, waits for its end, and returns nil, or what kept f from
// returning. It is for goroutines that others depend on.
func Run(f func()) *PanicError {
	ended := make(chan *PanicError, 1)
	go func() {
		failure := new(PanicError) // f exits
		defer func() { ended <- failure }()
		failure = Call(f)
	}()
	return <-ended
}

// Do is [Run] for an f that may fail: it returns f's error, or what kept f from returning.
func Do(f func() error) (err error) {
	if failure := Run(func() { err = f() }); failure != nil {
		return failure
	}
	return err
}
