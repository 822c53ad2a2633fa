// Package errtext makes the errors of package client whose text is not that of the error that they
// wrap.
package errtext

import (
	"fmt"

	"github.com/stdwire/stdwire/rpc"
)

type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// Wrap returns an error with a text that wraps err.
func Wrap(text string, err error) error { return &textError{text, err} }

// Protocol returns an error that matches [rpc.ErrProtocol].
func Protocol(format string, args ...any) error {
	return &textError{fmt.Sprintf(format, args...), rpc.ErrProtocol}
}
