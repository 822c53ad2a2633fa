package login

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/userfile"
)

// Flags are the flags for the logins of the users of a gateway at its servers.
type Flags struct {
	keyEnv, keyFile string
	file            string
}

const (
	keyEnvFlag  = "--credentials-key-env"
	keyFileFlag = "--credentials-key-file"
	fileFlag    = "--credentials-file"
	maxKeyFile  = 64 << 10
	createKey   = "create one with: openssl rand -hex 32"
)

// Flags returns the flags.
func (f *Flags) Flags() []command.Flag {
	return []command.Flag{
		command.TextFlag(&f.keyEnv, keyEnvFlag, "NAME",
			"environment variable that holds the key, 32 bytes or more, that seals the file of the logins of users at servers; see stdwire help credentials"),
		command.FileFlag(&f.keyFile, keyFileFlag, "a file with this key, which others cannot read"),
		f.FileFlag(),
	}
}

// FileFlag returns the flag for the file alone.
func (f *Flags) FileFlag() command.Flag {
	return command.FileFlag(&f.file, fileFlag,
		"the file of the logins of users (default: users.json beside the credentials of stdwire auth)")
}

// Given returns the name of a given flag, or "".
func (f *Flags) Given() string {
	return command.FirstGiven(keyEnvFlag, f.keyEnv, keyFileFlag, f.keyFile, fileFlag, f.file)
}

// Check returns an error if the flags contradict each other.
func (f *Flags) Check() error {
	if f.keyEnv != "" && f.keyFile != "" {
		return command.Usagef("%s and %s exclude each other", keyEnvFlag, keyFileFlag)
	}
	return nil
}

// CheckKept returns an error if a file is given without the key for it.
func (f *Flags) CheckKept() error {
	if f.file != "" && !f.HasKey() {
		return command.Usagef("%s needs the key that seals the file", fileFlag).WithHint(
			"add " + keyEnvFlag + " NAME; " + createKey)
	}
	return f.Check()
}

// HasKey reports whether a key is given.
func (f *Flags) HasKey() bool { return f.keyEnv != "" || f.keyFile != "" }

// KeyFile returns the path of the file of the key, or "".
func (f *Flags) KeyFile() string { return f.keyFile }

// Path returns the path of the file of logins. stateFile returns that of a file which is kept
// between runs.
func (f *Flags) Path(stateFile func(name string) (string, error)) (string, error) {
	if f.file != "" {
		return f.file, nil
	}
	return stateFile("users.json")
}

// key returns the key, or nil if none is given.
func (f *Flags) key() (key []byte, err error) {
	flag, where := keyEnvFlag, "the environment variable "+f.keyEnv
	switch {
	case f.keyEnv != "":
		key = []byte(os.Getenv(f.keyEnv))
	case f.keyFile != "":
		flag, where = keyFileFlag, f.keyFile
		if key, err = userfile.ReadSecret(f.keyFile, maxKeyFile); err != nil {
			return nil, command.Usagef("%s: %v", flag, err)
		}
		key = bytes.TrimSpace(key)
	default:
		return nil, nil
	}
	if len(key) < MinKey {
		return nil, command.Usagef("%s: %s has fewer than %d bytes", flag, where,
			MinKey).WithHint(createKey)
	}
	return key, nil
}

// Open opens the file of logins. Without a key, they can only be listed and deleted.
func (f *Flags) Open(stateFile func(name string) (string, error)) (*Store, error) {
	key, err := f.key()
	if err != nil {
		return nil, err
	}
	path, err := f.Path(stateFile)
	if err != nil {
		return nil, err
	}
	if f.file == "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	store, err := Open(path, key)
	switch {
	case errors.Is(err, ErrKey):
		return nil, command.Usagef("%s: %v", command.FirstGiven(keyEnvFlag, f.keyEnv, keyFileFlag,
			f.keyFile), err)
	case err != nil:
		return nil, &command.Failure{Code: "config", What: "the logins of users", Why: err.Error()}
	}
	return store, nil
}
