package fs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// ownMounts returns the attributes of a process with a mount namespace of its own, in which it may
// mount file systems.
func ownMounts() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

func mountSmall(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount: %v", err) // a namespace is not always enough
	}
	t.Cleanup(func() { assert.Check(t, syscall.Unmount(dir, 0)) })
}

// TestFullDisk is TestFull on a file system that is full.
func TestFullDisk(t *testing.T) {
	if !inOtherProcess(t, ownMounts()) {
		return
	}
	s := &service{dir: t.TempDir()}
	mountSmall(t, s.dir)
	s.put(t, "f", "old")
	s.put(t, "g", strings.Repeat("x", 100<<10))
	s.open(t, Root{"main", s.dir})
	s.nothingFits(t, strings.Repeat("n", 300<<10), "no space is left")
}

// Files are not moved between file systems, because that would be a copy.
func TestMoveAcross(t *testing.T) {
	if !inOtherProcess(t, ownMounts()) {
		return
	}
	s := newService(t, map[string]string{"f": "f", "disk/": ""})
	mountSmall(t, filepath.Join(s.dir, "disk"))
	fails(t, s, "fs.move", `{"from":"f","to":"disk/f"}`, dispatch.StateError,
		"different file systems")
	assert.Equal(t, s.content(t, "f"), "f")
	fails(t, s, "fs.delete", `{"path":"disk","recursive":true}`, dispatch.StateError, "in use")
}

// A device is not read.
func TestDevice(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	if err := syscall.Mknod(filepath.Join(s.dir, "zero"), syscall.S_IFCHR|0o666,
		1<<8|5); err != nil {
		t.Skipf("cannot make a device: %v", err)
	}
	s.refuses(t, "zero")
}
