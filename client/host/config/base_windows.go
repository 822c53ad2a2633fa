package config

// What roams with the user's profile is Roaming; what is of this machine, as paths of projects are,
// is Local.
var (
	configHome = baseDir{[]string{"XDG_CONFIG_HOME", "APPDATA"}, `AppData\Roaming`}
	stateHome  = baseDir{[]string{"XDG_STATE_HOME", "LOCALAPPDATA"}, `AppData\Local`}
)
