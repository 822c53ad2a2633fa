package form

import (
	"errors"
	"io"
	"strings"
)

// MaxFile is the maximum number of bytes of a file or of standard input for an argument.
const MaxFile = 64 << 20

// ErrTooLarge is the error of [ReadAll] for input of more than [MaxFile] bytes.
var ErrTooLarge = errors.New("it is larger than 64 MiB")

// ReadAll reads r to its end, [MaxFile] bytes at most.
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = ErrTooLarge
	}
	return data, err
}

// FileName returns the name of the file in text of the form @FILE. For other text it reports false
// and returns the text, in which a leading @@ stands for @.
func FileName(text string) (s string, isFile bool) {
	name, ok := strings.CutPrefix(text, "@")
	switch {
	case !ok:
		return text, false
	case strings.HasPrefix(name, "@"):
		return name, false
	}
	return name, true
}
