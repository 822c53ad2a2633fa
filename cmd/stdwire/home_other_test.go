//go:build !windows

package main

import "testing"

// setHome sets the user's home directory, without other places for configuration and state.
func setHome(t *testing.T, home string) {
	t.Helper()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
}
