//go:build !windows

package config

var (
	configHome = baseDir{[]string{"XDG_CONFIG_HOME"}, ".config"}
	stateHome  = baseDir{[]string{"XDG_STATE_HOME"}, ".local/state"}
)

// setVariable sets a variable.
func setVariable(env map[string]string, name, value string) { env[name] = value }
