//go:build !windows

package commandtest

// HomeVariables returns the variables of a user's home directory, without other places for
// configuration and state.
func HomeVariables(home string) map[string]string {
	return map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
}
