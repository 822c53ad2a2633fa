//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// notes are a named pipe in which other processes tell what they do. It ends when none of them is left.
type notes struct {
	path string
	r    *bufio.Reader
	hold *os.File // a writer of our own, so that there is no end before the first
}

func newNotes(t *testing.T) *notes {
	path := filepath.Join(t.TempDir(), "notes")
	assert.NilError(t, syscall.Mkfifo(path, 0o600))
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	assert.NilError(t, err)
	hold, err := os.OpenFile(path, os.O_WRONLY, 0)
	assert.NilError(t, err)
	t.Cleanup(func() { r.Close(); hold.Close() })
	return &notes{path, bufio.NewReader(r), hold}
}

// line waits for the next line.
func (n *notes) line(t *testing.T) string {
	line, err := n.r.ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return line
}

// all waits until nobody has the pipe open, and returns what is left in it.
func (n *notes) all(t *testing.T) string {
	assert.NilError(t, n.hold.Close())
	text, err := io.ReadAll(n.r)
	assert.NilError(t, err)
	return string(text)
}
