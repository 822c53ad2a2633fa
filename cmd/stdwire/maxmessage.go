package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/stdwire/stdwire/client"
)

const (
	megabyte      = 1000_000 // as sizes are shown
	mostMegabytes = 1000     // of a message, which is held in memory
)

// maxMessageFlag is the flag --max-message. Unless it is given, the target stays 0.
func maxMessageFlag(target *int) flag {
	return flag{name: "--max-message", value: "MB", help: "how large a message of the server may be (default 67)", set: func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > mostMegabytes {
			return usagef("--max-message: %q is no whole number from 1 to %d", value, mostMegabytes)
		}
		*target = n * megabyte
		return nil
	}}
}

// explainTooLarge says that the server has sent too large a message, and how to allow it. It
// reports false if that is not what the error is about.
func explainTooLarge(f *failure, err error) bool {
	large, ok := errors.AsType[*client.TooLargeError](err)
	if !ok {
		return false
	}
	f.code = "too_large"
	f.why = fmt.Sprintf("the server sent a message of %s or more, and the limit is %s", size(int(large.Size)), size(large.Limit))
	if need := large.Size/megabyte + 1; need <= mostMegabytes {
		f.hint = fmt.Sprintf("allow more: --max-message %d", need)
	}
	return true
}
