package target

import (
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/pin"
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

// PinServer returns the identity in the file of pins of a server with an ID and the file of its
// definition. c is a client with the capabilities of [gateway.DeclareCapabilities].
func PinServer(id, source string, c *client.Client) (pin.Server, error) {
	var declared client.Options
	gateway.DeclareCapabilities(&declared)
	return pin.NewServer(id, source, c.ServerInfo().Name, declared.Capabilities())
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
