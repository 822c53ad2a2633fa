package proc

import (
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/child"
)

const (
	maxVariables   = 256
	maxEnvironment = 128 << 10 // bytes of names and values
)

// environ returns the environment for a program: the variables that every child inherits, and those
// that the caller sets.
func environ(set map[string]string) ([]string, error) {
	size := 0
	for name, value := range set {
		size += len(name) + len(value)
	}
	if len(set) > maxVariables || size > maxEnvironment {
		return nil, dispatch.InvalidArgument("/env",
			"it has %d variables of %d bytes; the maximum is %d variables of %d bytes", len(set), size, maxVariables,
			maxEnvironment)
	}
	env, err := child.Config{Env: set}.Environ()
	if err != nil {
		return nil, dispatch.InvalidArgument("/env", "%w", err)
	}
	return env, nil
}
