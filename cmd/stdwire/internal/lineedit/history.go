package lineedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

const (
	maxHistory     = 1000     // lines
	maxHistoryLine = 16 << 10 // bytes of a line; a longer line is not kept
	// bytes of the file; OpenHistory cuts a longer file to its last lines
	maxHistoryFile = 256 << 10
)

// A History holds earlier lines, at most 1,000. The zero value keeps them in memory only. It is not
// safe for concurrent use.
type History struct {
	lines []string
	path  string // "" for no file
}

// OpenHistory returns a history with the lines of a file, to which [History.Add] appends. Add
// creates the file and its directory. If the file cannot be used, OpenHistory returns an error as
// well as a history, which has the lines that could be read and is in memory only.
func OpenHistory(path string) (*History, error) {
	h := new(History)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		h.path = path
		return h, nil
	case err != nil:
		return h, fmt.Errorf("no history: %w", err)
	case !info.Mode().IsRegular():
		return h, fmt.Errorf("no history: %s is not a regular file", path)
	}
	text, err := readEnd(path, info.Size()-maxHistoryFile)
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(text), "\uFFFD"), "\n") {
		h.keep(strings.TrimSuffix(line, "\r"))
	}
	if err == nil && info.Size() > maxHistoryFile {
		const ifGone = 0o600 // the mode if the file has been removed meanwhile
		err = atomicfile.Write(path, []byte(strings.Join(h.lines, "\n")+"\n"), ifGone)
	}
	if err != nil {
		return h, fmt.Errorf("the history is not kept: %w", err)
	}
	h.path = path
	return h, nil
}

// readEnd returns the whole lines after an offset of a file, or all lines if from is not above 0.
func readEnd(path string, from int64) ([]byte, error) {
	f, _, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, from), maxHistoryFile))
	if from > 0 { // probably in the middle of a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, err
}

// Lines returns the lines, oldest first. The caller must not change them.
func (h *History) Lines() []string { return h.lines }

// Add appends a line to the history and to its file, unless it is empty, begins with a blank,
// equals the last line, or is longer than 16 KiB. A line with a line end in it is kept in memory
// only. The error is about the file; after an error, Add does not write to the file again.
func (h *History) Add(line string) error {
	if strings.HasPrefix(line, " ") || !h.keep(line) || h.path == "" ||
		strings.ContainsAny(line, "\r\n") {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(h.path), 0o700)
	if err == nil {
		err = appendLine(h.path, line)
	}
	if err != nil {
		h.path = ""
		return fmt.Errorf("the history is not kept: %w", err)
	}
	return nil
}

func appendLine(path, line string) error {
	var f *os.File
	err := atomicfile.Retry(func() (err error) { // another process may be cutting the file
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// keep appends a line in memory, and reports whether it did.
func (h *History) keep(line string) bool {
	if strings.TrimSpace(line) == "" || len(line) > maxHistoryLine || len(h.lines) > 0 &&
		h.lines[len(h.lines)-1] == line {
		return false
	}
	h.lines = append(h.lines, line)
	h.lines = slices.Delete(h.lines, 0, max(0, len(h.lines)-maxHistory))
	return true
}
