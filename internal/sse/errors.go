package sse

import (
	"errors"
	"fmt"
)

// ErrField matches the error of [Append] for an id or a type that cannot be sent unchanged.
var ErrField = errors.New("field cannot be sent")

// A LimitError means that an event was lost because a part of it is over a limit. The stream goes
// on: Next skips the rest of the event and continues with the next one. Test with errors.As.
type LimitError struct {
	Field string // data, id, event or retry
	Limit int    // the Limits.MaxData or Limits.MaxField in force, in bytes
}

func (e *LimitError) Error() string {
	name := "MaxField"
	if e.Field == "data" {
		name = "MaxData"
	}
	return fmt.Sprintf(
		"sse: %s of an event is over the limit of %d bytes: send less, or raise Limits.%s", e.Field,
		e.Limit, name)
}
