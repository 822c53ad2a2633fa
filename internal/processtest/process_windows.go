package processtest

import "syscall"

// Exists is Runs.
func Exists(pid int) bool { return Runs(pid) }

// Runs reports whether a process runs.
func Runs(pid int) bool {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(process)
	event, err := syscall.WaitForSingleObject(process, 0)
	return err != nil || event == syscall.WAIT_TIMEOUT
}

// OpenFiles returns 0: Windows counts the handles of threads too.
func OpenFiles() int { return 0 }
