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

// ExitCodes maps the code of a failure, which -o json prints, to the exit code. Success is 0. The
// codes of operations have their exit codes and HTTP statuses in package dispatch (CodeInfo).
var ExitCodes = map[string]int{
	"internal": 1, // an unexpected error of this program or the server

	"usage":    2, // the command line is wrong
	"bad_args": 2, // the arguments of the tool are not JSON, or do not fit it or its schema

	// the server at a URL requires or refuses authorization, or no token could be obtained
	"auth_required": 3,

	"unreachable":   4, // no connection or handshake, or no running gateway
	"spawn_failed":  4, // the program of the server could not be started
	"start_exit":    4, // the server ended before the handshake
	"start_timeout": 4, // the handshake took too long

	"tool_is_error": 5, // the tool reports an error, or the server refused tools/call
	"refused":       5, // the server answered another request with an error
	"not_found":     5, // the server has no such tool, resource or prompt

	"call_timeout": 6, // a request after the handshake took too long
	"server_died":  6, // the server ended after the handshake

	"too_large": 7, // a message exceeds the limit of either side
	"untrusted": 7, // the project's server is not trusted; see stdwire trust
	"denied":    7, // the configuration, the server or a gateway forbids it, or nobody confirmed it

	"config": 8, // the configuration has an error

	"findings": 10, // a scan, a check or a comparison found something

	// 128 and the number of the signal, as in a shell
	"hangup":      129,
	"interrupted": 130,
	"closed_pipe": 141, // the reader of stdout has closed it
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
	Stderr string // the end of the server's standard error, if it may contain the cause
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
	c.PrintLabeled("stdwire:", term.StyleOf("error"), "stdwire: "+f.Error())
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
