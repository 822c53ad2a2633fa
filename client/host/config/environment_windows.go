package config

import "strings"

// Configuration roams with the user's profile. State does not, because it contains paths of this
// machine.
var (
	configHome = baseDir{[]string{"XDG_CONFIG_HOME", "APPDATA"}, `AppData\Roaming`}
	stateHome  = baseDir{[]string{"XDG_STATE_HOME", "LOCALAPPDATA"}, `AppData\Local`}
)

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
