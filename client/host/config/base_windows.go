package config

// Configuration roams with the user's profile. State does not, because it contains paths of this
// machine.
var (
	configHome = baseDir{[]string{"XDG_CONFIG_HOME", "APPDATA"}, `AppData\Roaming`}
	stateHome  = baseDir{[]string{"XDG_STATE_HOME", "LOCALAPPDATA"}, `AppData\Local`}
)
