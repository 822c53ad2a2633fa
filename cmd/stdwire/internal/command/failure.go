package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

// ExitCodes maps the code of a failure, which -o json prints, to its exit code. Success is 0.
var ExitCodes = map[string]int{
	"internal": 1, // this program or the server did what nobody can have expected

	"usage":    2, // the command line is wrong
	"bad_args": 2, // the tool's arguments are no JSON, or do not fit its schema

	// the server, at its URL, wants to know who is there, or does not like who it is; or there was
	// no way to its token
	"auth_required": 3,

	// no connection: the handshake was refused, or made no sense; no gateway is running
	"unreachable":   4,
	"spawn_failed":  4, // the server's program could not be started
	"start_exit":    4, // it ended before it had answered
	"start_timeout": 4, // it has not answered in time

	"tool_is_error": 5, // the tool says that it failed, or the server that it could not be called
	"refused":       5, // the server answered any other request with an error
	"not_found":     5, // there is no such tool, resource or prompt

	"call_timeout": 6, // after the handshake
	"server_died":  6,

	"too_large": 7, // the message was not sent, or not taken
	"untrusted": 7, // the server is a project's, and nobody has agreed to it
	"denied":    7, // the configuration does not allow it

	"config": 8, // something is wrong with the configuration

	// a scan has found something, a server is broken, or what was compared is not the same
	"findings": 10,

	// Ended by a signal, or by a reader of stdout that has had enough; as a shell has it, 128 and
	// the signal's number.
	"hangup":      129,
	"interrupted": 130,
	"closed_pipe": 141,
	"terminated":  143,
}

// A Failure is the error that ends a command: one line on standard error and an exit code.
type Failure struct {
	Code   string // a key of ExitCodes
	Server string // the name of the server, or ""
	Tool   string
	What   string // what failed: a command, a method, a tool
	Why    string
	Hint   string // the remedy, or ""
	Stderr string // the end of the server's standard error, if it may tell the cause
	Logged bool   // Stderr has been shown already
}

func (f *Failure) Error() string {
	var parts []string
	for _, part := range []string{f.Server, f.What, f.Why} {
		if part != "" {
			parts = append(parts, printable.Line(part))
		}
	}
	return strings.Join(parts, ": ")
}

// Usagef returns a failure with code usage. [Command.Run] sets What.
func Usagef(format string, args ...any) *Failure {
	return &Failure{Code: "usage", Why: fmt.Sprintf(format, args...)}
}

// BadArgs returns a failure with code bad_args: the arguments of the tool are wrong.
func BadArgs(format string, args ...any) *Failure {
	return &Failure{Code: "bad_args", Why: fmt.Sprintf(format, args...)}
}

// WithHint sets the hint, unless hint is "", and returns f.
func (f *Failure) WithHint(hint string) *Failure {
	f.Hint = cmp.Or(hint, f.Hint)
	return f
}

// An ExitStatus is the error of a command that has reported its failure itself. The program ends
// with this exit code and prints nothing more.
type ExitStatus int

func (s ExitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// ExitCode returns the exit code of a failure.
func (f *Failure) ExitCode() int { return cmp.Or(ExitCodes[f.Code], 1) }

// maxTail is the number of lines of a server's standard error that are shown before a failure.
const maxTail = 10

// Print prints a failure: its line, below the end of the server's standard error and above the
// hint; or one line of JSON.
func (f *Failure) Print(c *term.Console, asJSON bool) {
	if asJSON {
		_, _ = c.Write([]byte(printable.JSON(string(f.json())) + "\n"))
		return
	}
	if tail := strings.Split(strings.TrimSpace(f.Stderr), "\n"); len(tail) > 1 && !f.Logged {
		for _, line := range tail[max(0, len(tail)-maxTail):] {
			c.Printf("  | %s", line)
		}
	}
	c.Printf("stdwire: %s", f.Error())
	if f.Hint != "" {
		c.Printf("hint: %s", printable.Line(f.Hint))
	}
}

func (f *Failure) json() []byte {
	type details struct {
		Code     string `json:"code"`
		Message  string `json:"message"`
		Server   string `json:"server"`
		Tool     string `json:"tool"`
		ExitCode int    `json:"exit_code"`
		Stderr   string `json:"stderr_tail"`
		Hint     string `json:"hint"`
	}
	text, _ := json.Marshal(map[string]details{ // strings and a number always encode
		"error": {f.Code, f.Error(), f.Server, f.Tool, f.ExitCode(), f.Stderr, f.Hint},
	})
	return text
}
