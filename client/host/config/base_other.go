//go:build !windows

package config

var (
	configHome = base{[]string{"XDG_CONFIG_HOME"}, ".config"}
	stateHome  = base{[]string{"XDG_STATE_HOME"}, ".local/state"}
)
