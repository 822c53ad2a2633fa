package cli

import (
	"context"
	"errors"
	"io"

	"github.com/stdwire/stdwire/internal/contain"
)

var errInterrupted = errors.New("interrupted")

// await reads what cannot be interrupted, a terminal or a pipe. When ctx ends the read is
// abandoned, its goroutine with it, and the error is errInterrupted; what it reads from must then
// be left alone.
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

// byteReader reads byte by byte, so that what is behind the last one is still there for whoever
// reads on: the next command of a shell, say.
type byteReader struct {
	in  io.Reader
	one [1]byte
}

const maxEmptyReads = 100 // in a row

func (b *byteReader) ReadByte() (byte, error) {
	for range maxEmptyReads {
		if n, err := b.in.Read(b.one[:]); n > 0 || err != nil {
			if n > 0 {
				err = nil // it comes again
			}
			return b.one[0], err
		}
	}
	return 0, io.ErrNoProgress
}
