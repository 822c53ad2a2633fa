package main

import (
	"errors"
	"io"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

// A recordingFile is the word of a command line that names a recording.
type recordingFile struct{ name string }

func (f *recordingFile) word(word string) error {
	if f.name != "" {
		return usagef("unexpected argument %q", word)
	}
	f.name = word
	return nil
}

// open opens the file; - is stdin.
func (f *recordingFile) open(std *streams) (io.ReadCloser, error) {
	switch f.name {
	case "":
		return nil, usagef("which recording?").withHint("stdwire tap -o FILE makes one")
	case "-":
		return io.NopCloser(std.in), nil
	}
	file, err := os.Open(f.name)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return file, nil
}

// each hands over every record, with its line. A recording whose last line is not whole is good up to there, which is told.
func (f *recordingFile) each(std *streams, handle func(r *tap.Record, line []byte) error) error {
	file, err := f.open(std)
	if err != nil {
		return err
	}
	defer file.Close()
	for reader := tap.NewReader(file); ; {
		record, line, err := reader.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, tap.ErrTruncated):
			std.err.printf("note: %s: %v", f.name, err)
			return nil
		case err != nil:
			return f.bad(err)
		}
		if err := handle(record, line); err != nil {
			return err
		}
	}
}

// bad is the failure of a recording that cannot be read.
func (f *recordingFile) bad(err error) error {
	return usagef("%s: %v", f.name, err)
}
