package guard

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const (
	programName = "tool.exe"
	brokenPipe  = syscall.Errno(232) // ERROR_NO_DATA
)

// systemVariable reports whether os/exec or Wine adds a variable to an environment.
func systemVariable(kv string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
	switch name {
	case "SYSTEMROOT", "SYSTEMDRIVE", "PROCESSOR_ARCHITECTURE":
		return true
	}
	return strings.HasPrefix(name, "WINE")
}

var systemFixtures map[string]func(args []string)

// ignoreAll catches signals, because with signal.Ignore Windows would end the process.
func ignoreAll() { signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM) }

func detachedAttr() *syscall.SysProcAttr {
	const detached = 0x8 // DETACHED_PROCESS
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detached}
}

// guardPid returns the id of the command, which has no guard.
func guardPid(p *Process) int { return p.Pid() }

func kill(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		process.Kill()
	}
}
