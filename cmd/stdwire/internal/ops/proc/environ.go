package proc

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/child"
)

const maxEnvironment = 128 << 10 // bytes of names and values

// parseEnv returns the variables of a list of NAME=VALUE.
func parseEnv(list []string) (map[string]string, error) {
	set := make(map[string]string, len(list))
	size := 0
	for i, variable := range list {
		name, value, ok := strings.Cut(variable, "=")
		path := fmt.Sprintf("/env/%d", i)
		if !ok || name == "" {
			return nil, dispatch.InvalidArgument(path, "want NAME=VALUE, not %.100q", variable)
		}
		if _, duplicate := set[name]; duplicate {
			return nil, dispatch.InvalidArgument(path, "%.100q is set twice", name)
		}
		set[name] = value
		size += len(variable)
	}
	if size > maxEnvironment {
		return nil, dispatch.InvalidArgument("/env", "it has %d bytes, and the maximum is %d", size,
			maxEnvironment)
	}
	return set, nil
}

// environ returns the environment for a program: the variables that every child inherits, and those
// that the caller sets.
func environ(set map[string]string) ([]string, error) {
	env, err := child.Config{Env: set}.Environ()
	if err != nil {
		return nil, dispatch.InvalidArgument("/env", "%w", err)
	}
	return env, nil
}
