package cli

import (
	"context"
	"errors"
	"io"

	"github.com/stdwire/stdwire/internal/contain"
)

var errInterrupted = errors.New("interrupted")

// await calls read, which reads a terminal or a pipe and cannot be interrupted. If ctx ends first,
// await returns errInterrupted and abandons the read and its goroutine; nothing else may then read
// from the same source.
func await[T any](ctx context.Context, read func() (T, error)) (value T, err error) {
	if ctx.Err() != nil {
		return value, errInterrupted
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.err = contain.Do(func() (err error) {
			r.value, err = read()
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return value, errInterrupted
	}
}

// byteReader reads one byte at a time, so that it consumes nothing after the last byte that was
// asked for. Another reader of the same input, such as the shell, continues there.
type byteReader struct {
	in  io.Reader
	one [1]byte
}

const maxEmptyReads = 100 // in a row

func (b *byteReader) ReadByte() (byte, error) {
	for range maxEmptyReads {
		if n, err := b.in.Read(b.one[:]); n > 0 || err != nil {
			if n > 0 {
				err = nil // the next Read returns it again
			}
			return b.one[0], err
		}
	}
	return 0, io.ErrNoProgress
}
