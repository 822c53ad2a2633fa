package main

import (
	"bufio"
	"io"
	"net"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// notes are lines that other processes write, each over its own connection. They end when the last
// process has ended.
type notes struct {
	path    string // to be given to takeNotes
	r       *bufio.Reader
	w       *io.PipeWriter
	open    sync.WaitGroup
	reached chan struct{} // all that connected before the end is asked for are known
}

const endOfNotes = "\x00\n"

func newNotes(t *testing.T) *notes {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	r, w := io.Pipe()
	t.Cleanup(func() { listener.Close(); r.Close() })
	n := &notes{path: listener.Addr().String(), r: bufio.NewReader(r), w: w}
	n.reached = make(chan struct{})
	n.open.Add(1) // all releases it
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n.open.Go(func() { n.take(conn) })
		}
	}()
	return n
}

// take reads the notes of one process.
func (n *notes) take(conn net.Conn) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if line == endOfNotes {
			close(n.reached)
			return
		}
		if _, failed := io.WriteString(n.w, line); err != nil || failed != nil {
			return
		}
	}
}

// takeNotes connects a process. The connection stays open until the process ends.
func takeNotes(path string) net.Conn {
	conn, err := net.Dial("tcp", path)
	if err != nil {
		panic(err)
	}
	return conn
}

// Line returns the next line.
func (n *notes) Line(t *testing.T) string {
	line, err := n.r.ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return line
}

// all waits until all processes have ended and returns the remaining notes.
func (n *notes) all(t *testing.T) string {
	t.Helper()
	go func() {
		conn := takeNotes(n.path)
		_, _ = io.WriteString(conn, endOfNotes)
		<-n.reached
		_ = conn.Close()
		n.open.Done()
		n.open.Wait()
		_ = n.w.Close()
	}()
	text, err := io.ReadAll(n.r)
	assert.NilError(t, err)
	return string(text)
}
