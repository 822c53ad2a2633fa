package fs

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"runtime"
)

const maxLine = 256 << 10 // bytes of a line that are searched

// A lineBuffer reads a file line by line, one file after another.
type lineBuffer struct {
	*bufio.Reader
}

// line returns the next line without its end. What exceeds maxLine is dropped. The bytes are valid until the next call.
func (b *lineBuffer) line() ([]byte, error) {
	line, err := b.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			_, err = b.ReadSlice('\n')
		}
	}
	if err == io.EOF && len(line) > 0 {
		err = nil // the last line has no end
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// buffers holds a buffer for each processor, nil until it is needed. All searches share them, so that many at once take no more
// memory, nor read more files at a time, than one.
type buffers chan *lineBuffer

func newBuffers() buffers {
	b := make(buffers, runtime.GOMAXPROCS(0))
	for range cap(b) {
		b <- nil
	}
	return b
}

// take waits for a buffer, or for the context to be done.
func (b buffers) take(ctx context.Context) (*lineBuffer, error) {
	select {
	case buffer := <-b:
		if buffer == nil {
			buffer = &lineBuffer{bufio.NewReaderSize(nil, maxLine)}
		}
		return buffer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b buffers) give(buffer *lineBuffer) {
	buffer.Reset(nil)
	b <- buffer
}
