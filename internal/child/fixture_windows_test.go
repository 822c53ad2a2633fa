package child

import (
	"syscall"
	"time"
)

const (
	programName = "tool.exe"
	pipeHolds   = 2 << 10
)

var systemFixtures map[string]func()

// systemRungs lacks the request to end, which needs a console.
func systemRungs(short time.Duration) []rung {
	deaf := fixture("stubborn")
	return []rung{
		{"killed", deaf, short, 1, "ended by signal: killed"},
		{"killed without grace", deaf, -1, 0, "ended by signal: killed"},
	}
}

func alive(pid int) bool {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(process)
	event, err := syscall.WaitForSingleObject(process, 0)
	return err != nil || event == syscall.WAIT_TIMEOUT
}

// openFiles returns 0: Windows counts the handles of threads too. See TestNoHandleLeft.
func openFiles() int { return 0 }
