package tapcmd

import (
	"errors"
	"io"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/userfile"
)

// A recordingFile is the argument that names a recording.
type recordingFile struct{ name string }

// open opens the file, or stdin if its name is "-".
func (f *recordingFile) open(std *term.Streams) (io.ReadCloser, error) {
	switch f.name {
	case "":
		return nil, command.Usagef("which recording?").WithHint("stdwire tap -o FILE records one")
	case "-":
		return io.NopCloser(std.In), nil
	}
	file, err := userfile.OpenArgument(f.name)
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	return file, nil
}

// each calls handle with every record and its line. A recording whose last line is incomplete is
// valid up to that line; each prints a note.
func (f *recordingFile) each(std *term.Streams,
	handle func(r *tap.Record, line []byte) error) error {
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
			std.Err.Printf("note: %s: %v", f.name, err)
			return nil
		case err != nil:
			return f.failure(err)
		}
		if err := handle(record, line); err != nil {
			return err
		}
	}
}

// failure returns the failure of a recording that cannot be read.
func (f *recordingFile) failure(err error) error {
	return command.Usagef("%s: %v", f.name, err)
}
