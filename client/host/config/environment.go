package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stdwire/stdwire/internal/userfile"
)

// An Environment gives access to those parts of the machine that determine the meaning of a
// configuration. [System] returns the environment of this process.
type Environment struct {
	// Dir is the directory with the project files, in which servers start. It is absolute and must
	// not contain symbolic links, because trust depends on its name.
	Dir string
	// Home is the home directory, ${userHome} and ~/. It is absolute.
	Home string

	// LookupEnv returns the value of an environment variable, as [os.LookupEnv] does.
	LookupEnv func(name string) (value string, ok bool)
	// ReadFile returns the content of a file. The error matches [fs.ErrNotExist] if there is none.
	ReadFile func(path string) ([]byte, error)
	// Exists reports whether a file other than a directory exists.
	Exists func(path string) bool

	// Trusts reports whether the user trusts a profile of a project's file: see
	// [Config].ProfilesRequiringTrust. If it is nil, no profile is trusted.
	Trusts func(*Profile) bool

	// Inputs are the values of ${input:ID} by id. The value of another input is the environment
	// variable STDWIRE_INPUT_ID or, if that is not set, the result of Ask.
	Inputs map[string]string
	// Ask asks the user for the value of an input. If it is nil, the input has no value.
	Ask func(Input) (string, error)
}

// System returns the environment of this process, with dir as its working directory unless dir is
// "". Its Ask is nil.
func System(dir string) (*Environment, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // one directory has one name: trust depends on it
	}
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	exists := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	}
	env := &Environment{Dir: dir, Home: home, LookupEnv: os.LookupEnv, ReadFile: readFile,
		Exists: exists}
	store := UserStore(env)
	env.Trusts = func(p *Profile) bool { return store.Check(p) == nil }
	return env, nil
}

// readFile reads a regular file of at most [MaxFile] bytes.
func readFile(path string) ([]byte, error) {
	data, err := userfile.Read(path, MaxFile)
	if errors.Is(err, syscall.ENOTDIR) { // a parent is a file, so the file cannot exist
		err = &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return data, err
}
