package fs

import (
	"bufio"
	"bytes"
	"io"
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
