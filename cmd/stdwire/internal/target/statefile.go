package target

import (
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// OpenPins opens the user's file of pins.
func OpenPins() (*pin.File, error) {
	path, err := StateFile("pins.json")
	if err != nil {
		return nil, err
	}
	pins, err := pin.Open(path)
	if err != nil {
		return nil, &command.Failure{Code: "config", Why: err.Error()}
	}
	return pins, nil
}

// CacheDir returns the path of a directory for files that can be recreated.
func CacheDir(name string) (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "stdwire", name), err
}

// StateFile returns the path of a file that is kept between runs (XDG Base Directory
// Specification).
func StateFile(name string) (string, error) {
	home, err := os.UserHomeDir()
	path := config.StateFile(&config.Environment{Home: home, LookupEnv: os.LookupEnv}, name)
	if !filepath.IsAbs(path) { // neither a variable nor a home directory is set
		return "", err
	}
	return path, nil
}
