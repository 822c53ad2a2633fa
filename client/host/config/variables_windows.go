package config

import "strings"

// setVariable sets a variable, and replaces one whose name differs only in case, because Windows
// treats Path and PATH as one variable.
func setVariable(env map[string]string, name, value string) {
	for other := range env {
		if strings.EqualFold(other, name) {
			delete(env, other)
		}
	}
	env[name] = value
}
