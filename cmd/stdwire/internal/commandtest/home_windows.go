package commandtest

import "path/filepath"

// HomeVariables returns the variables of a user's home directory, with configuration and state
// where other systems have them, so that tests expect the same everywhere. client/host/config tests
// the places of Windows.
func HomeVariables(home string) map[string]string {
	return map[string]string{"HOME": home, "USERPROFILE": home,
		"APPDATA":         filepath.Join(home, "AppData", "Roaming"),
		"LOCALAPPDATA":    filepath.Join(home, "AppData", "Local"),
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"),
		"XDG_STATE_HOME":  filepath.Join(home, ".local", "state"),
	}
}
