//go:build unix

package serve

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/server"
)

// What a repository has beside its skills is not read: neither where its links lead, nor a large
// file, nor a pipe.
func TestSkillsOfAHostileDirectory(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a link to a device": func(dir string) error {
			return os.Symlink("/dev/zero", filepath.Join(dir, "zero"))
		},
		"a link to a device in a skill": func(dir string) error {
			return os.Symlink("/dev/zero", filepath.Join(dir, "s", "zero"))
		},
		"a large file": func(dir string) error {
			path := filepath.Join(dir, "large")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<30)
		},
		"a large file in a skill": func(dir string) error {
			path := filepath.Join(dir, "s", "large")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<30)
		},
		"a pipe": func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)
		},
		"a pipe in a skill": func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "s", "pipe"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, skill := range []string{"s", "late"} {
				assert.NilError(t, os.Mkdir(filepath.Join(dir, skill), 0o700))
			}
			store(t, dir, map[string][]byte{
				"s/SKILL.md": []byte("---\nname: s\ndescription: It does.\n---\nDo.\n")})
			assert.NilError(t, prepare(dir))
			logged := make(lateLog, 1)
			s := server.New(server.Info{Name: "test", Version: "1"}, nil)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			k, err := (&skillFlags{dirs: []string{dir}}).serve(t.Context(), s,
				slog.New(slog.NewTextHandler(logged, nil)), target.WritableRoots{})
			assert.NilError(t, err)
			store(t, dir, map[string][]byte{"late/SKILL.md": []byte("no front matter")})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				<-logged
				k.close()
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the watcher does not notice the late skill, or does not end")
			}
			runtime.ReadMemStats(&after)
			assert.Assert(t, after.TotalAlloc-before.TotalAlloc < 64<<20)
		})
	}
}

// A lateLog receives a value when a line about the directory "late" is logged.
type lateLog chan struct{}

func (l lateLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("late/")) {
		select {
		case l <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}

// store writes files of these names in a directory, which only this user can read.
func store(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}
