package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// An Environment is everything outside the files that the meaning of a configuration depends on.
// [System] returns that of this process.
type Environment struct {
	// in which project files are looked for, and servers start; absolute, and always by the same
	// name, as it is part of what is trusted
	Dir  string
	Home string // ${userHome}, ~/; absolute

	LookupEnv func(name string) (value string, ok bool)
	// an error is [fs.ErrNotExist] if there is no such file
	ReadFile func(path string) ([]byte, error)
	Exists   func(path string) bool // there is a file of that name

	// Trusts reports whether the user has agreed to a profile of a project's file: see
	// [Config.Claims]. Nil is never.
	Trusts func(*Profile) bool

	// Inputs has values for ${input:ID} by id. Missing ones are taken from STDWIRE_INPUT_ID, then
	// from Ask. Without Ask they have no value.
	Inputs map[string]string
	Ask    func(Input) (string, error)
}

// System returns the environment of this process, with dir as its working directory unless that is
// "". It has no Ask.
func System(dir string) (*Environment, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // one name for one directory: it is what is trusted
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
	env.Trusts = func(p *Profile) bool { return store.CheckProfile(p) == nil }
	return env, nil
}

// readFile reads a regular file of at most [MaxFile] bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, syscall.ENOTDIR) { // nor can there be one
		err = &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, &fs.PathError{Op: "read", Path: path,
			Err: errors.New("this is no regular file")}
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("%s has more than %d MiB", path, MaxFile>>20)
	}
	return data, err
}
