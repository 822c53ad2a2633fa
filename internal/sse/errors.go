package sse

import (
	"errors"
	"fmt"
)

// ErrField is what [Append] returns for an id or a type that cannot be sent as it is. Test with errors.Is.
var ErrField = errors.New("field cannot be sent")

// A LimitError tells that an event is lost because a part of it is over a limit. The stream is not: Next
// passes over the rest of the event and goes on with the one behind it. Test with errors.As.
type LimitError struct {
	Field string // data, id, event or retry
	Limit int    // bytes: the Limits.MaxData or Limits.MaxField in force
}

func (e *LimitError) Error() string {
	name := "MaxField"
	if e.Field == "data" {
		name = "MaxData"
	}
	return fmt.Sprintf("sse: %s of an event is over the limit of %d bytes: send less, or raise Limits.%s", e.Field, e.Limit, name)
}
