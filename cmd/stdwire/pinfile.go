package main

import (
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/pin"
)

// openPins opens the user's file of pins (XDG Base Directory Specification).
func openPins() (*pin.Lock, error) {
	path, err := stateFile("pins.json")
	if err != nil {
		return nil, err
	}
	lock, err := pin.Open(path)
	if err != nil {
		return nil, &failure{code: "config", why: err.Error()}
	}
	return lock, nil
}

// stateFile is where something is kept from one run to the next.
func stateFile(name string) (string, error) {
	home, err := os.UserHomeDir()
	path := config.StateFile(&config.Environment{Home: home, LookupEnv: os.LookupEnv}, name)
	if !filepath.IsAbs(path) { // no variable has a place, and there is no home
		return "", err
	}
	return path, nil
}
