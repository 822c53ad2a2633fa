//go:build !windows

package main

import "testing"

// setHome makes a directory the user's, without a configuration or a state elsewhere.
func setHome(t *testing.T, home string) {
	t.Helper()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
}
