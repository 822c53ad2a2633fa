package jsonexact

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

var (
	// ErrDuplicateKey is the cause of a [DecodeError] for an object in which a key occurs twice.
	ErrDuplicateKey = errors.New("the key occurs twice")
	// ErrMissing is the cause of an error for a message in which there is nothing where something is required.
	ErrMissing = errors.New("a required value is missing")
)

// A DecodeError says what in a JSON text is not as it should be, and where.
type DecodeError struct {
	Path   string // such as "content[0].text"; "" for the whole text. Long keys are cut short
	Offset int64  // in bytes from the start of the text
	Err    error  // what is wrong: ErrDuplicateKey, a TypeError, what a type's own method returned, or that the text is not JSON

	pointer string
}

func (e *DecodeError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%v (at byte %d)", e.Err, e.Offset)
	}
	return fmt.Sprintf("%s: %v (at byte %d)", e.Path, e.Err, e.Offset)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// Pointer returns Path as a JSON Pointer (RFC 6901).
func (e *DecodeError) Pointer() string { return e.pointer }

// A TypeError is the cause of a [DecodeError] for a value that does not go into the Go type.
type TypeError struct {
	Type  reflect.Type
	Want  string // such as "a string"; "" if it is only that the number is out of range, or has a fraction or exponent that is not wanted
	Found string // such as "an array"; or the number, cut short
}

func (e *TypeError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("%s does not fit in %s", e.Found, e.Type.Kind())
	}
	return fmt.Sprintf("want %s, not %s", e.Want, e.Found)
}

func fail(at int, err error) error { return &DecodeError{Offset: int64(at), Err: err} }

// syntax makes the error of a scanner one of this package.
func syntax(err error) error {
	if e, ok := err.(*jsonscan.Error); ok {
		return fail(e.Offset, errors.New("not JSON: "+e.Reason))
	}
	return err
}

// within puts a key in front of the path of err.
func within(err error, key string) error {
	short := clip(key)
	step := short
	if !isWord(key) {
		step = "[" + strconv.Quote(short) + "]"
	}
	return at(err, step, short)
}

// withinArray puts an index in front of the path of err.
func withinArray(err error, n int) error {
	index := strconv.Itoa(n)
	return at(err, "["+index+"]", index)
}

func at(err error, step, token string) error {
	if e, ok := err.(*DecodeError); ok {
		if e.Path != "" && e.Path[0] != '[' {
			step += "."
		}
		e.Path = step + e.Path
		e.pointer = "/" + jsonscan.EscapePointer(token) + e.pointer
	}
	return err
}

// isWord reports whether key can stand in a path without quotes.
func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i]; !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '$') {
			return false
		}
	}
	return key != ""
}

// clip cuts what a peer chose to a length fit for an error message.
func clip(s string) string { return printable.TruncateBytes(s, 64) }
