//go:build unix

package proc

import (
	"encoding/json"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

// SignalInput are the arguments of proc.signal.
type SignalInput struct {
	dispatch.Session
	Signal string `json:"signal" enum:"INT,TERM,HUP,QUIT,KILL,USR1,USR2,STOP,CONT"`
}

const (
	signalHelp = "INT is what Ctrl-C sends. " +
		"A process that STOP has stopped takes other signals when CONT has let it go on."
	stopHelp = "close its stdin, send SIGTERM soon after if that does not end it, " +
		"and SIGKILL when grace_ms are over."
)

var signalExample = dispatch.Example{
	Summary: "Interrupt",
	Input:   json.RawMessage(`{"session":"python3-4f9a2c","signal":"INT"}`),
}

// signals maps names to the signals that a caller can send or that can end a process.
var signals = map[string]syscall.Signal{
	"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "BUS": syscall.SIGBUS,
	"CONT": syscall.SIGCONT, "FPE": syscall.SIGFPE,
	"HUP": syscall.SIGHUP, "ILL": syscall.SIGILL, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL,
	"PIPE": syscall.SIGPIPE,
	"PROF": syscall.SIGPROF, "QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV,
	"STOP": syscall.SIGSTOP, "SYS": syscall.SIGSYS,
	"TERM": syscall.SIGTERM, "TRAP": syscall.SIGTRAP, "USR1": syscall.SIGUSR1,
	"USR2": syscall.SIGUSR2, "VTALRM": syscall.SIGVTALRM,
	"XCPU": syscall.SIGXCPU, "XFSZ": syscall.SIGXFSZ,
}
