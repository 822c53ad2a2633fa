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
)

const (
	maxHistory     = 1000      // lines that are kept
	maxHistoryLine = 16 << 10  // bytes of one; a longer one is not kept
	maxHistoryFile = 256 << 10 // bytes of a file; a longer one is cut to its last lines when it is opened
)

// A History has the lines that were typed before, at most 1,000. The zero value keeps them in memory only. It is not safe for concurrent use.
type History struct {
	lines []string
	path  string // "" is no file
}

// OpenHistory reads the lines that a file has, and will append to it, see [History.Add]; it makes the file, and its folder, when there is something to append. The
// error says why a file cannot be used. The history can be used all the same, and then has what could be read and lives in memory only.
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
		const ifGone = 0o600 // the mode of a file that is not there any more
		err = atomicfile.Write(path, []byte(strings.Join(h.lines, "\n")+"\n"), ifGone)
	}
	if err != nil {
		return h, fmt.Errorf("the history is not kept: %w", err)
	}
	h.path = path
	return h, nil
}

// readEnd returns the lines of a file behind an offset, if that is above 0, or all of them.
func readEnd(path string, from int64) ([]byte, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, from), maxHistoryFile))
	if from > 0 { // in the middle of a line, most likely
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, err
}

// Lines returns the lines, the oldest first. They must not be changed.
func (h *History) Lines() []string { return h.lines }

// Add appends a line, to the file too, unless it is empty, begins with a blank, is the same as the last one, or has more than 16 KiB. One with a line end in it
// is kept in memory only. The error is about the file, which from then on is left alone.
func (h *History) Add(line string) error {
	if strings.HasPrefix(line, " ") || !h.keep(line) || h.path == "" || strings.ContainsAny(line, "\r\n") {
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
	err := atomicfile.Retry(func() (err error) { // another shell may be cutting it
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// keep appends a line in memory, and reports whether it is one to be kept.
func (h *History) keep(line string) bool {
	if strings.TrimSpace(line) == "" || len(line) > maxHistoryLine || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return false
	}
	h.lines = append(h.lines, line)
	h.lines = slices.Delete(h.lines, 0, max(0, len(h.lines)-maxHistory))
	return true
}
