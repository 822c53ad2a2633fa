package processgroup

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A write without a reader, and a read without a writer, end at their deadline, and when the pipe
// is closed. After a deadline, the pipe can be used again.
func TestPipeDeadlines(t *testing.T) {
	t.Parallel()
	theirInput, ourInput, err := openPipe(true)
	assert.NilError(t, err)
	defer theirInput.Close()
	theirOutput, ourOutput, err := openPipe(false)
	assert.NilError(t, err)
	defer theirOutput.Close()

	past := time.Unix(1, 0)
	assert.NilError(t, ourInput.SetWriteDeadline(past))
	_, err = ourInput.Write(make([]byte, 1<<20))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.NilError(t, ourOutput.SetReadDeadline(past))
	_, err = ourOutput.Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)

	assert.NilError(t, ourInput.SetWriteDeadline(time.Time{}))
	assert.NilError(t, ourOutput.SetReadDeadline(time.Time{}))
	ended := make(chan error)
	go func() {
		_, err := ourInput.Write(make([]byte, 1<<20))
		ended <- err
	}()
	go func() {
		_, err := ourOutput.Read(make([]byte, 1))
		ended <- err
	}()
	// Whether they have begun or not.
	assert.NilError(t, ourInput.Close())
	assert.NilError(t, ourOutput.Close())
	for range 2 {
		assert.ErrorIs(t, <-ended, os.ErrClosed)
	}
}

// All data arrives, followed by the end of file.
func TestPipeCopies(t *testing.T) {
	t.Parallel()
	all := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, open := range map[string]func() (reader, writer *os.File, err error){
		"input": func() (reader, writer *os.File, err error) { return openPipe(true) },
		"output": func() (reader, writer *os.File, err error) {
			writer, reader, err = openPipe(false)
			return reader, writer, err
		},
	} {
		reader, writer, err := open()
		assert.NilError(t, err, name)
		go func() {
			writer.Write(all)
			writer.Close()
		}()
		got, err := io.ReadAll(reader)
		assert.NilError(t, err, name)
		assert.Assert(t, bytes.Equal(got, all), name)
		reader.Close()
		// The reader is closed.
		reader, unread, err := open()
		assert.NilError(t, err, name)
		reader.Close()
		_, err = unread.Write(all)
		assert.Assert(t, err != nil, name)
		unread.Close()
	}
}
