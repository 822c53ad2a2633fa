package child

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"unicode"
)

// ExitError says how a child ended. Its text is like
//
//	exited with status 3: "boom: missing API key"
//	ended by signal: terminated
type ExitError struct {
	Status int       // the exit status, or -1 if a signal ended it
	Signal os.Signal // the signal that ended it, or nil

	Stopped     bool // Stop or Close was called before the exit
	BeforeReady bool // MarkReady was not called before the exit

	// Unread says that the process had read nothing of its stdin, so that nothing sent to it is why
	// it ended. Systems other than Linux do not detect this.
	Unread bool

	// Held says that another process, which the child started and left behind, held the child's
	// stdout open after the exit. Systems other than Linux detect only one that left the group.
	Held bool

	// LastStderr is the last informative line of stderr, in printable form and at most 256
	// characters long. Stack frames, advice such as usage, and the lines that Node.js, npm and Go
	// always write last are passed over.
	LastStderr string

	// Hint says how to fix a known cause found in stderr, such as a package that does not exist,
	// or is empty. It is not part of the text.
	Hint string

	// Err is set if the exit status is unknown because other code reaped the process.
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

// describe sets how the process ended, as [Group.End] returned it.
func (e *ExitError) describe(status int, signal syscall.Signal, err error, stderr string) {
	e.LastStderr = lastLine(stderr)
	e.Status, e.Err = status, err
	if signal != 0 {
		e.Signal = signal
	}
	if e.Status != 0 && err == nil {
		e.Hint = hint(stderr)
	}
}

// hints lists words of the errors that launchers print when they cannot get the program, whatever
// punctuation stands between the words, and what to do then.
var hints = []struct{ sign, hint string }{
	{"E404", "npm does not find the package: check its name and version, and which registry npm is set to use"},
	{"ENOTFOUND", unresolved},
	{"EAI_AGAIN", unresolved},
	{"not found in the package registry",
		"uv does not find the package: check its name and version, and which index uv is set to use"},
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
