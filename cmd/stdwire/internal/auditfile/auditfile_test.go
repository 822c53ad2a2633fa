package auditfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"gotest.tools/v3/assert"
)

// auditOf opens an audit log in a directory of its own, and returns what it logs about itself.
func auditOf(t *testing.T, limit int64, keep int) (a *File, logged *bytes.Buffer) {
	t.Helper()
	logged = new(bytes.Buffer)
	a, err := Open(filepath.Join(t.TempDir(), "audit.jsonl"), limit, keep,
		slog.New(slog.NewTextHandler(logged, nil)))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a, logged
}

// contents returns the lines of the files of an audit log, the latest file first.
func contents(t *testing.T, a *File) (all []string) {
	t.Helper()
	for i := range 100 {
		content, err := os.ReadFile(a.name(i))
		if err != nil {
			break
		}
		all = append(all, string(content))
	}
	return all
}

// Lines are never divided between files, and none is lost until the oldest file goes.
func TestAuditSize(t *testing.T) {
	a, logged := auditOf(t, 10, 2)
	write := func(lines string, want ...string) {
		t.Helper()
		n, err := a.Write([]byte(lines))
		assert.NilError(t, err)
		assert.Equal(t, n, len(lines))
		assert.DeepEqual(t, contents(t, a), want)
	}
	write("1234\n", "1234\n")
	write("5678\n", "1234\n5678\n")
	write("9\n", "9\n", "1234\n5678\n")
	write("a\nb\nc\nd\ne\nf\n", "e\nf\n", "9\na\nb\nc\nd\n", "1234\n5678\n")
	write("a long line\n", "a long line\n", "e\nf\n", "9\na\nb\nc\nd\n")
	write("x\nanother long line\n", "another long line\n", "x\n", "a long line\n")
	assert.Equal(t, logged.String(), "")
}

// The size counts what was there at the start.
func TestAuditSizeOfAnExistingFile(t *testing.T) {
	a, _ := auditOf(t, 10, 2)
	_, err := a.Write([]byte("12345678\n"))
	assert.NilError(t, err)
	assert.NilError(t, a.Close())
	again, err := Open(a.path, 10, 2, slog.New(slog.DiscardHandler))
	assert.NilError(t, err)
	defer again.Close()
	_, err = again.Write([]byte("9\n"))
	assert.NilError(t, err)
	assert.DeepEqual(t, contents(t, again), []string{"9\n", "12345678\n"})
}

// Two processes that write to the same log lose nothing and rename each file once.
func TestAuditSizeOfTwoWriters(t *testing.T) {
	a, _ := auditOf(t, 100, 50)
	other, err := Open(a.path, 100, 50, slog.New(slog.DiscardHandler))
	assert.NilError(t, err)
	defer other.Close()
	for i := range 100 {
		to := []*File{a, other}[i%2]
		_, err := fmt.Fprintf(to, "line %04d\n", i)
		assert.NilError(t, err)
	}
	all := contents(t, a)
	assert.Equal(t, len(all), 10)
	for _, file := range all {
		assert.Equal(t, strings.Count(file, "\n"), 10)
	}
}

// Processes that write and rename at the same time lose no line.
func TestAuditSizeOfConcurrentWriters(t *testing.T) {
	const writers, writes = 4, 60
	a, _ := auditOf(t, 200, 10_000)
	var done sync.WaitGroup
	for w := range writers {
		to, err := Open(a.path, a.limit, a.keep, slog.New(slog.DiscardHandler))
		assert.NilError(t, err)
		defer to.Close()
		done.Go(func() {
			for i := range writes {
				if _, err := fmt.Fprintf(to, "%d %04d a\n%[1]d %04[2]d b\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	lines := map[string]int{}
	for i := range writers * writes {
		content, err := os.ReadFile(a.name(i))
		if err != nil {
			break
		}
		assert.Assert(t, len(content) <= 200)
		for line := range strings.Lines(string(content)) {
			lines[line]++
		}
	}
	assert.Equal(t, len(lines), writers*writes*2)
	for line, n := range lines {
		assert.Equal(t, n, 1, line)
	}
}

// While another process holds the lock for too long, lines go to the current file, which is not
// renamed.
func TestAuditIsLocked(t *testing.T) {
	a, logged := auditOf(t, 4, 1)
	a.lockTimeout = time.Millisecond
	unlock, err := atomicfile.Lock(t.Context(), a.path+".lock")
	assert.NilError(t, err)
	brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if second, err := atomicfile.Lock(brief, a.path+".lock"); err == nil {
		second()
		t.Skip("this system has no file locks")
	}
	for range 2 {
		_, err = io.WriteString(a, "12\n34\n")
		assert.NilError(t, err)
	}
	assert.DeepEqual(t, contents(t, a), []string{"12\n34\n12\n34\n"})
	assert.Equal(t, strings.Count(logged.String(), "it continues in the current file"), 1)
	unlock()
	_, err = io.WriteString(a, "5\n")
	assert.NilError(t, err)
	assert.DeepEqual(t, contents(t, a), []string{"5\n", "12\n34\n12\n34\n"})
}

// A rename that failed in the middle does not move the older files again.
func TestAuditRenamesUpToTheFirstGap(t *testing.T) {
	a, _ := auditOf(t, 4, 3)
	assert.NilError(t, os.WriteFile(a.name(2), []byte("old\n"), 0o600))
	for _, line := range []string{"12\n", "34\n"} {
		_, err := io.WriteString(a, line)
		assert.NilError(t, err)
	}
	assert.DeepEqual(t, contents(t, a), []string{"34\n", "12\n", "old\n"})
}

// A file that another program moves is replaced at the next write, and Rotated says so once.
func TestAuditIsMoved(t *testing.T) {
	a, logged := auditOf(t, 0, 0)
	write := func(text string) {
		t.Helper()
		_, err := io.WriteString(a, text)
		assert.NilError(t, err)
	}
	write("1\n")
	assert.Assert(t, !a.Rotated())
	assert.NilError(t, os.Rename(a.path, a.path+".1"))
	write("2\n")
	assert.DeepEqual(t, contents(t, a), []string{"2\n", "1\n"})
	assert.Assert(t, a.Rotated())
	assert.Assert(t, !a.Rotated())

	assert.NilError(t, os.Rename(a.path, a.path+".2"))
	assert.NilError(t, os.Mkdir(a.path, 0o700))
	for _, text := range []string{"4\n", "5\n"} {
		write(text)
	}
	content, err := os.ReadFile(a.path + ".2")
	assert.NilError(t, err)
	assert.Equal(t, string(content), "2\n4\n5\n")
	assert.Equal(t, strings.Count(logged.String(), "it continues in the current file"), 1)
}

// A file that cannot be renamed continues, whatever its size.
func TestAuditCannotBeRenamed(t *testing.T) {
	a, logged := auditOf(t, 4, 1)
	assert.NilError(t, os.MkdirAll(filepath.Join(a.path+".1", "x"), 0o700))
	for range 4 {
		_, err := io.WriteString(a, "12\n34\n")
		assert.NilError(t, err)
	}
	content, err := os.ReadFile(a.path)
	assert.NilError(t, err)
	assert.Equal(t, string(content), strings.Repeat("12\n34\n", 4))
	assert.Equal(t, strings.Count(logged.String(), "it continues in the current file"), 1)
}
