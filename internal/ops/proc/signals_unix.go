//go:build unix

package proc

import "syscall"

// signals are those that a caller can send, or that may be seen to have ended a process, by their names.
var signals = map[string]syscall.Signal{
	"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "BUS": syscall.SIGBUS, "CONT": syscall.SIGCONT, "FPE": syscall.SIGFPE,
	"HUP": syscall.SIGHUP, "ILL": syscall.SIGILL, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "PIPE": syscall.SIGPIPE,
	"PROF": syscall.SIGPROF, "QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV, "STOP": syscall.SIGSTOP, "SYS": syscall.SIGSYS,
	"TERM": syscall.SIGTERM, "TRAP": syscall.SIGTRAP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "VTALRM": syscall.SIGVTALRM,
	"XCPU": syscall.SIGXCPU, "XFSZ": syscall.SIGXFSZ,
}
