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
	// ErrMissing is the cause of the error for a message that lacks a required value.
	ErrMissing = errors.New("a required value is missing")
)

// A DecodeError describes an error in a JSON text, and its place.
type DecodeError struct {
	Path   string // such as "content[0].text"; "" for the whole text; long keys are truncated
	Offset int64  // in bytes from the start of the text
	// ErrDuplicateKey, ErrMissing, a TypeError, the error of a type's own method, or why the text
	// is not JSON
	Err error

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

// A TypeError is the cause of a [DecodeError] for a value that does not fit the Go type.
type TypeError struct {
	Type reflect.Type
	// what the type takes, such as "a number"; "" if a number is out of range, or has a fraction
	// that is not allowed
	Want  string
	Found string // what the text has, such as "a string"; or the number or string, truncated
}

func (e *TypeError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("%s does not fit in %s", e.Found, e.Type.Kind())
	}
	return fmt.Sprintf("want %s, not %s", e.Want, e.Found)
}

func errorAt(at int, err error) error { return &DecodeError{Offset: int64(at), Err: err} }

// syntaxError returns an error of package jsonscan as a DecodeError.
func syntaxError(err error) error {
	if e, ok := err.(*jsonscan.Error); ok {
		return errorAt(e.Offset, errors.New("not JSON: "+e.Reason))
	}
	return err
}

// prependKey prepends a key to the path of err.
func prependKey(err error, key string) error {
	short := truncate(key)
	step := short
	if !isWord(key) {
		step = "[" + strconv.Quote(short) + "]"
	}
	return prependPath(err, step, short)
}

// prependIndex prepends an index to the path of err.
func prependIndex(err error, n int) error {
	index := strconv.Itoa(n)
	return prependPath(err, "["+index+"]", index)
}

func prependPath(err error, step, token string) error {
	if e, ok := err.(*DecodeError); ok {
		if e.Path != "" && e.Path[0] != '[' {
			step += "."
		}
		e.Path = step + e.Path
		e.pointer = "/" + jsonscan.EscapePointer(token) + e.pointer
	}
	return err
}

// isWord reports whether key needs no quotes in a path.
func isWord(key string) bool {
	for i := range len(key) {
		if c := key[i]; !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' ||
			c == '$') {
			return false
		}
	}
	return key != ""
}

// truncate truncates text that another program sent for an error message.
func truncate(s string) string { return printable.TruncateBytes(s, 64) }
