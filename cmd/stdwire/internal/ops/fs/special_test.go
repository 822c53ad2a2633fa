//go:build unix

package fs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/grep"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// refuses checks that a file that is not regular is neither read nor written.
func (s *service) refuses(t *testing.T, name string) {
	t.Helper()
	for _, op := range []struct{ name, args string }{
		{"fs.read", `{"path":%q}`}, {"fs.search", `{"path":%q,"pattern":"."}`},
		{"fs.write", `{"path":%q,"content":""}`}, {"fs.edit", `{"path":%q,"old":"a","new":"b"}`},
		{"fs.write", `{"path":%q,"content":"","if_sha256":"absent"}`},
	} {
		fails(t, s, op.name, fmt.Sprintf(op.args, name), dispatch.PermissionDenied,
			"only regular files")
	}
}

// No operation blocks on a pipe.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "file", "l": "-> pipe"})
	assert.NilError(t, syscall.Mkfifo(filepath.Join(s.dir, "pipe"), 0o666))
	listener, err := net.Listen("unix", filepath.Join(s.dir, "sock"))
	assert.NilError(t, err)
	defer listener.Close()
	for _, name := range []string{"pipe", "sock", "l"} {
		s.refuses(t, name)
	}
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"pipe"}`).Type, "other")
	list := run[ListOutput](t, s, "fs.list", `{"recursive":true}`)
	assert.Equal(t, len(list.Entries), 4)
	searched := run[grep.Output](t, s, "fs.search", `{"pattern":"."}`)
	assert.Equal(t, len(searched.Matches), 1)
	assert.Equal(t, searched.Skipped, 0)
	fails(t, s, "fs.list", `{"path":"pipe"}`, dispatch.StateError, "not a directory")
	// Pipes can be moved and deleted, which does not open them.
	run[MoveOutput](t, s, "fs.move", `{"from":"pipe","to":"pipe2"}`)
	assert.Equal(t, run[DeleteOutput](t, s, "fs.delete", `{"path":"pipe2"}`).Type, "other")
}

// A pipe that replaces a file or directory between check and open does not block either.
func TestSpecialRace(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "x", "d/f": "x"})
	at := func(name string) string { return filepath.Join(s.dir, name) }
	assert.NilError(t, syscall.Mkfifo(at("pipe"), 0o666))
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				for _, name := range []string{"f", "d"} {
					_ = errors.Join(os.Rename(at(name), at("aside")),
						os.Rename(at("pipe"), at(name)), os.Rename(at(name), at("pipe")),
						os.Rename(at("aside"), at(name)))
				}
			}
		}
	})
	// does not end an open that blocks; the test run fails then
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	counts := map[dispatch.Code]int{}
	for i := 0; i < 200 || i < 20_000 &&
		(counts[""] < 100 || counts[dispatch.PermissionDenied] < 10); i++ {
		for _, op := range []struct{ name, args string }{
			{"fs.read", `{"path":"f"}`}, {"fs.read", `{"path":"d/f"}`},
			{"fs.list", `{"recursive":true}`}, {"fs.search", `{"pattern":"x"}`},
			{"fs.edit", `{"path":"d/f","old":"x","new":"y"}`},
		} {
			code := dispatch.Code("")
			if envelope := s.dispatch(ctx, op.name, op.args); envelope.Err != nil {
				if code = envelope.Err.Code; code == dispatch.InternalError {
					t.Errorf("%s: %v", op.name, envelope.Err.Unwrap())
				}
			}
			counts[code]++
		}
	}
	close(done)
	swapper.Wait()
	t.Log(counts)
	assert.Assert(t, counts[""] >= 100 &&
		counts[dispatch.PermissionDenied] >= 10, "the file was not seen as both: %v", counts)
}

func TestModeAndOwner(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "x"})
	name := filepath.Join(s.dir, "f")
	assert.NilError(t, os.Chmod(name, 0o751))
	asRoot := os.Getuid() == 0
	if asRoot {
		assert.NilError(t, os.Chown(name, 1234, 4321))
		assert.NilError(t, os.Chmod(name, 0o751))
	}
	run[WriteOutput](t, s, "fs.write", `{"path":"f","content":"y"}`)
	run[EditOutput](t, s, "fs.edit", `{"path":"f","old":"y","new":"z"}`)
	info, err := os.Stat(name)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode(), os.FileMode(0o751))
	if st := info.Sys().(*syscall.Stat_t); asRoot {
		assert.Equal(t, [2]uint32{st.Uid, st.Gid}, [2]uint32{1234, 4321})
	}
	// A new file has the default mode and owner.
	assert.NilError(t, os.WriteFile(filepath.Join(s.dir, "by os"), nil, 0o666))
	run[WriteOutput](t, s, "fs.write", `{"path":"by fs","content":""}`)
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"by fs"}`).Mode,
		run[StatOutput](t, s, "fs.stat", `{"path":"by os"}`).Mode)
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	s := newService(t, map[string]string{"f": "x", "closed/f": "x", "hidden": "x"})
	for name, mode := range map[string]os.FileMode{"closed": 0, "hidden": 0} {
		assert.NilError(t, os.Chmod(filepath.Join(s.dir, name), mode))
		t.Cleanup(func() { assert.Check(t, os.Chmod(filepath.Join(s.dir, name), 0o700)) })
	}
	fails(t, s, "fs.read", `{"path":"hidden"}`, dispatch.PermissionDenied, "does not permit")
	fails(t, s, "fs.list", `{"path":"closed"}`, dispatch.PermissionDenied, "does not permit")
	fails(t, s, "fs.write", `{"path":"closed/g","content":""}`, dispatch.PermissionDenied,
		"does not permit")
	assert.Equal(t, run[ListOutput](t, s, "fs.list", `{"recursive":true}`).Skipped, 1)
	out := run[grep.Output](t, s, "fs.search", `{"pattern":"x"}`)
	assert.Equal(t, out.Skipped, 2)
	assert.Equal(t, len(out.Matches), 1)
}

// A 32-bit system call opens a file of over 2 GiB only with a flag.
func TestReadLargeFile(t *testing.T) {
	s := newService(t, nil)
	const offset int64 = 3 << 30
	f, err := os.Create(filepath.Join(s.dir, "large")) // sparse, except for its end
	assert.NilError(t, err)
	_, err = f.WriteAt([]byte("the end"), offset)
	assert.NilError(t, err)
	assert.NilError(t, f.Close())

	out := run[ReadOutput](t, s, "fs.read", `{"path":"large","offset":3221225472}`)
	assert.Equal(t, out.Content, "the end")
	assert.Equal(t, out.Size, offset+int64(len("the end")))
	assert.Equal(t, run[StatOutput](t, s, "fs.stat", `{"path":"large"}`).Size, out.Size)
}
