package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// The first byte of a line in a record: the sender of the message that follows.
const (
	fromClient = '>'
	fromServer = '<'
)

// Tap runs a server between this process's standard input and output, and records each line before
// it forwards it, in the file record.PID: a client may start a server more than once. It returns
// when the server has ended. The error is an *exec.ExitError if the exit status is not 0.
func Tap(record, server string, args ...string) error {
	file, err := os.Create(fmt.Sprintf("%s.%d", record, os.Getpid()))
	if err != nil {
		return err
	}
	defer file.Close()
	cmd := exec.Command(server, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var mu sync.Mutex
	note := func(direction byte, line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := file.Write(append([]byte{direction}, line...))
		return err
	}
	go func() {
		defer in.Close()
		_ = pass(in, os.Stdin, func(line []byte) error { return note(fromClient, line) })
	}()
	err = pass(os.Stdout, out, func(line []byte) error { return note(fromServer, line) })
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if exit := cmd.Wait(); exit != nil {
		return exit
	}
	return err
}

// pass copies lines, and calls note before each.
func pass(to io.Writer, from io.Reader, note func(line []byte) error) error {
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := note(line); err != nil {
				return err
			}
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
