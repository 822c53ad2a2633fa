package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/userfile"
)

// sources reads files and standard input for flags.
type sources struct {
	ctx   context.Context
	stdin io.Reader // nil in a script
	taken string    // the flag that has read standard input, or ""
}

// text returns the value of a flag that is a string: the text itself, or the content of @FILE or of
// standard input. With binary, the content is encoded as base64.
func (s *sources) text(flag, text string, binary bool) (string, error) {
	if literal, isFile := form.FileName(text); !isFile && text != "-" {
		return literal, nil
	}
	data, err := s.read(flag, text)
	switch {
	case err != nil:
		return "", err
	case binary:
		return base64.StdEncoding.EncodeToString(data), nil
	}
	data = jsonscan.TrimBOM(data)
	if !utf8.Valid(data) {
		return "", dispatch.Errorf(dispatch.InvalidInput, "%s: its value is not UTF-8 text",
			flag)
	}
	return string(data), nil
}

// json returns the value of a flag that is JSON: the text itself, or the content of @FILE or of
// standard input.
func (s *sources) json(flag, text string) ([]byte, error) {
	data := []byte(text)
	if isSource(text) {
		var err error
		if data, err = s.read(flag, text); err != nil {
			return nil, err
		}
		data = jsonscan.TrimBOM(data)
	}
	if err := jsonscan.Valid(data); err != nil {
		return nil, dispatch.Errorf(dispatch.InvalidInput, "%s: %w", flag, err)
	}
	return []byte(strings.Trim(string(data), " \t\r\n")), nil
}

func isSource(text string) bool { return text == "-" || strings.HasPrefix(text, "@") }

// read returns the content of @FILE, or of standard input for - and @-.
func (s *sources) read(flag, source string) ([]byte, error) {
	name := strings.TrimPrefix(source, "@")
	switch {
	case name == "":
		return nil, dispatch.Errorf(dispatch.InvalidInput,
			"%s: the name of a file is missing after @; write @@ for a text that begins with @",
			flag)
	case name == "-" && s.taken != "":
		return nil, dispatch.Errorf(dispatch.InvalidInput,
			"%s: standard input has been read already, for %s", flag, s.taken)
	case name == "-" && s.stdin == nil:
		return nil, dispatch.Errorf(dispatch.InvalidInput,
			"%s: %s is standard input, which is where the command lines come from; give @FILE",
			flag, source)
	case name == "-":
		s.taken, name = flag, "standard input"
	}
	data, err := await(s.ctx, func() ([]byte, error) { return readAll(name, source, s.stdin) })
	switch {
	case err == errInterrupted:
		return nil, dispatch.Errorf(dispatch.Cancelled, "%s: interrupted while reading %s", flag,
			name)
	case err != nil:
		return nil, dispatch.Errorf(dispatch.InvalidInput, "%s: cannot read %s: %w", flag, name,
			err)
	}
	return data, nil
}

func readAll(name, source string, stdin io.Reader) ([]byte, error) {
	if source != "-" && source != "@-" {
		f, err := userfile.OpenArgument(name)
		if err != nil {
			return nil, bare(err)
		}
		defer f.Close()
		stdin = f
	}
	data, err := form.ReadAll(stdin)
	return data, bare(err)
}

// bare removes the name of the file, which the message contains already, from an error.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%w", e.Err)
	}
	return err
}
