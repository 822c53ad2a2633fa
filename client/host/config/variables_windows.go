package config

import "strings"

// setVariable sets a variable in the place of one whose name differs in case only: Windows takes
// Path and PATH for one.
func setVariable(env map[string]string, name, value string) {
	for other := range env {
		if strings.EqualFold(other, name) {
			delete(env, other)
		}
	}
	env[name] = value
}
