package configfile

import (
	"errors"
	"io/fs"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
)

// An ApplicationFile is a configuration file of an application.
type ApplicationFile struct {
	appfile.Application
	Path      string
	Workspace bool // of the working directory, not the user's own
	Exists    bool
	Servers   []*config.Server // under their names in the file, including those with errors
	Err       error            // why the file cannot be read, or nil
}

// ApplicationFiles reads the files that [FindApplicationFiles] returns. Each may have
// [config.MaxFile] bytes. Nothing is started or written.
func ApplicationFiles(env *config.Environment) []ApplicationFile {
	all := FindApplicationFiles(env)
	for i := range all {
		all[i].read(env)
	}
	return all
}

// FindApplicationFiles returns the files of all applications, the user's own before that of the
// working directory. Files that do not exist are included. They are not read.
func FindApplicationFiles(env *config.Environment) (all []ApplicationFile) {
	for _, a := range appfile.Applications() {
		for _, f := range []ApplicationFile{{Path: a.UserFile(env)},
			{Path: a.WorkspaceFile(env), Workspace: true}} {
			if f.Path != "" {
				f.Application, f.Exists = a, env.Exists(f.Path)
				all = append(all, f)
			}
		}
	}
	return all
}

// read reads the file.
func (f *ApplicationFile) read(env *config.Environment) {
	if !f.Exists {
		return
	}
	f.Servers, f.Err = Servers(env, f.Path)
	if errors.Is(f.Err, fs.ErrNotExist) { // it was removed meanwhile
		f.Exists, f.Err = false, nil
	}
}

// Servers returns the servers of a file under their names in the file, including those with errors.
func Servers(env *config.Environment, path string) ([]*config.Server, error) {
	data, err := env.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := config.Parse(env, config.Source{Path: path, Workspace: env.Dir}, data)
	return f.Servers, f.Err()
}
