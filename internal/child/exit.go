package child

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/processgroup"
)

// ExitError says how a child ended. Its text is like
//
//	exited with status 3: "boom: missing API key"
//	ended by signal: terminated
type ExitError struct {
	Status int       // the exit status, or -1 if a signal ended it
	Signal os.Signal // what ended it, or nil

	Stopped     bool // Stop or Close had been called before
	BeforeReady bool // it had never been marked ready

	// Held says that, when it had exited, something else still held its stdout open: a process that it has started and left behind. Other systems than Linux see
	// that only of one that has left the group.
	Held bool

	// LastStderr is the last line on stderr that says something, fit to be shown
	// and at most 256 characters long. Stack frames, advice such as usage, and what
	// Node.js, npm and Go always write last, say nothing.
	LastStderr string

	// Hint is a way out, if stderr gives one away, such as for a
	// package that does not exist. It is not part of the text.
	Hint string

	// Err is why nothing more is known: somebody else reaped the process. Else nil.
	Err error
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("exited with status %d", e.Status)
	switch {
	case e.Err != nil:
		text = fmt.Sprintf("exited with unknown status (%v)", e.Err)
	case e.Signal != nil:
		text = fmt.Sprintf("ended by signal: %v", e.Signal)
	}
	if e.LastStderr != "" {
		text += `: "` + e.LastStderr + `"`
	}
	return text
}

func (e *ExitError) Unwrap() error { return e.Err }

func (e *ExitError) describe(state *os.ProcessState, err error, stderr string) {
	e.LastStderr = lastLine(stderr)
	if err != nil {
		e.Status, e.Err = -1, err
		return
	}
	e.Status = state.ExitCode()
	if sig := processgroup.Signal(state); sig != 0 {
		e.Status, e.Signal = -1, sig
	}
	if e.Status != 0 {
		e.Hint = hint(stderr)
	}
}

// hints are what launchers say when the program they were to launch cannot be
// had: whole words, whatever stands between them.
var hints = []struct{ sign, hint string }{
	{"E404", "npm does not find the package: check its name and version, and which registry npm is set to use"},
	{"ENOTFOUND", unresolved},
	{"EAI_AGAIN", unresolved},
	{"not found in the package registry", "uv does not find the package: check its name and version, and which index uv is set to use"},
}

const unresolved = "a host name could not be resolved: check the network, and HTTP_PROXY, HTTPS_PROXY and NO_PROXY"

func hint(stderr string) string {
	words := strings.FieldsFunc(stderr, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	text := " " + strings.Join(words, " ") + " "
	for _, h := range hints {
		if strings.Contains(text, " "+h.sign+" ") {
			return h.hint
		}
	}
	return ""
}
