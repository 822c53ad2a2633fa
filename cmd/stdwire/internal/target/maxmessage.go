package target

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

const (
	megabyte     = 1000_000 // decimal, as in the sizes that are printed
	maxMegabytes = 1000     // of a message, which is held in memory
)

// maxMessageFlag is the flag --max-message. Without the flag target stays 0.
func maxMessageFlag(target *int) command.Flag {
	f := command.NumberFlag(target, "--max-message", "MB", 1, maxMegabytes,
		"how large a message of the server may be (default 67)")
	set := f.Set
	f.Set = func(value string) error {
		err := set(value)
		*target *= megabyte
		return err
	}
	return f
}

// explainTooLarge explains that a message of the server was too large and how to allow it. It
// returns false for another error.
func explainTooLarge(f *command.Failure, err error) bool {
	large, ok := errors.AsType[*client.TooLargeError](err)
	if !ok {
		return false
	}
	f.Code = "too_large"
	f.Why = fmt.Sprintf("the server sent a message of %s or more, and the limit is %s",
		command.Size(int(large.Size)), command.Size(large.Limit))
	if need := large.Size/megabyte + 1; need <= maxMegabytes {
		f.Hint = fmt.Sprintf("allow more: --max-message %d", need)
	}
	return true
}
