package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/server"
)

// skillFlags are the directories of --skills.
type skillFlags struct{ dirs []string }

func (f *skillFlags) flags() []command.Flag {
	return []command.Flag{{Name: "--skills", Value: "DIR", Many: true,
		Help: "serve the skills in DIR; may be repeated",
		Set: func(value string) error {
			if value == "" {
				return errors.New("the directory's name is empty")
			}
			f.dirs = append(f.dirs, value)
			return nil
		}}}
}

// skillDirs are the directories whose skills a server serves, until close.
type skillDirs struct {
	dirs   []string
	roots  []*os.Root
	server *server.Server
	log    *slog.Logger
	logged string // the last problems, so that each is logged once
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// serve adds the skills to a server, and logs the defects of invalid ones. It adds them again
// whenever the directories have changed, until ctx ends. No directory may lie in a writable root,
// because a client could then write instructions for the models of others.
func (f *skillFlags) serve(ctx context.Context, s *server.Server, log *slog.Logger,
	writable target.WritableRoots) (*skillDirs, error) {
	k := &skillDirs{dirs: f.dirs, server: s, log: log, cancel: func() {}}
	for _, dir := range k.dirs {
		err := writable.Refuse("--skills", dir)
		var root *os.Root
		if err == nil {
			if root, err = os.OpenRoot(dir); err != nil {
				err = command.Usagef("--skills: %v", arguments.Plain(err))
			}
		}
		if err != nil {
			k.close()
			return nil, err
		}
		k.roots = append(k.roots, root)
		k.warn(s.AddSkills(userfile.FS(root)))
	}
	k.logged = ""
	if len(k.roots) > 0 {
		k.watch(ctx)
	}
	return k, nil
}

// warn logs each problem of an error on a line.
func (k *skillDirs) warn(err error) {
	if err == nil {
		k.logged = ""
		return
	}
	if text := err.Error(); text != k.logged {
		k.logged = text
		for line := range strings.Lines(text) {
			k.log.Warn("a skill is not served", slog.String("error", strings.TrimSpace(line)))
		}
	}
}

// watch adds the skills again whenever the directories have changed.
func (k *skillDirs) watch(ctx context.Context) {
	ctx, k.cancel = context.WithCancel(ctx)
	files := &filewatch.Watcher{Files: k.files, Limit: skill.MaxBytes}
	k.wg.Go(func() {
		files.Run(ctx, nil, func(bool) { k.warn(k.server.ReloadSkills()) })
	})
}

// files returns the files of all skills, for a [filewatch.Watcher].
func (k *skillDirs) files() map[string]filewatch.File {
	files := map[string]filewatch.File{}
	for i, root := range k.roots {
		entries, err := skill.Entries(userfile.FS(root))
		if err != nil { // AddSkills has refused the directory
			files[k.dirs[i]] = filewatch.File{Err: err}
		}
		for name, e := range entries {
			path := filepath.Join(k.dirs[i], name)
			files[path] = filewatch.File{Info: e.Info, Err: e.Err, Open: e.Open}
		}
	}
	return files
}

// close stops watching.
func (k *skillDirs) close() {
	k.cancel()
	k.wg.Wait()
	for _, root := range k.roots {
		_ = root.Close()
	}
}
