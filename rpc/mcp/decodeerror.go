package mcp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrDuplicateKey is the cause of a [DecodeError] for an object in which a key occurs twice.
var ErrDuplicateKey = errors.New("the key occurs twice")

// A DecodeError says what in a JSON text is not as it should be, and where.
type DecodeError struct {
	Path   string // such as "content[0].text"; "" for the whole text. Long keys are cut short
	Offset int64  // in bytes from the start of the text
	Err    error  // what is wrong
}

func (e *DecodeError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%v (at byte %d)", e.Err, e.Offset)
	}
	return fmt.Sprintf("%s: %v (at byte %d)", e.Path, e.Err, e.Offset)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// within puts a step in front of the path of err.
func within(err error, step string) error {
	if e, ok := err.(*DecodeError); ok {
		switch {
		case e.Path == "" || e.Path[0] == '[':
			e.Path = step + e.Path
		default:
			e.Path = step + "." + e.Path
		}
	}
	return err
}

// keyPath is the step of a path that a key makes.
func keyPath(key string) string {
	if key != "" && consistsOf(key, "_$") {
		return clip(key)
	}
	return "[" + strconv.Quote(clip(key)) + "]"
}

// clip cuts what a peer chose to a length fit for an error message.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
