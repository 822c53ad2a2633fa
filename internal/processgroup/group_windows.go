package processgroup

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

var (
	kernel32                  = syscall.NewLazyDLL("kernel32.dll")
	assignProcessToJobObject  = kernel32.NewProc("AssignProcessToJobObject")
	createJobObject           = kernel32.NewProc("CreateJobObjectW")
	generateConsoleCtrlEvent  = kernel32.NewProc("GenerateConsoleCtrlEvent")
	getQueuedCompletionStatus = kernel32.NewProc("GetQueuedCompletionStatus")
	queryInformationJobObject = kernel32.NewProc("QueryInformationJobObject")
	setInformationJobObject   = kernel32.NewProc("SetInformationJobObject")
	terminateJobObject        = kernel32.NewProc("TerminateJobObject")
	ntResumeProcess           = syscall.NewLazyDLL("ntdll.dll").NewProc("NtResumeProcess")
)

const (
	createSuspended = 0x4        // CREATE_SUSPENDED
	controlCExit    = 0xc000013a // STATUS_CONTROL_C_EXIT
	killed          = 0xe0000009 // the status of who was killed: an error, not Microsoft's
	ctrlBreak       = 1          // CTRL_BREAK_EVENT
	killOnJobClose  = 0x2000     // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	basicAccounting = 1          // JobObjectBasicAccountingInformation
	completionPort  = 7          // JobObjectAssociateCompletionPortInformation
	extendedLimits  = 9          // JobObjectExtendedLimitInformation
	lookAgainAfter  = 100        // milliseconds
)

// extendedLimitInformation is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type extendedLimitInformation struct {
	perProcessUserTimeLimit, perJobUserTimeLimit int64
	limitFlags                                   uint32
	minimumWorkingSetSize, maximumWorkingSetSize uintptr
	activeProcessLimit                           uint32
	affinity                                     uintptr
	priorityClass, schedulingClass               uint32
	_                                            [8 - unsafe.Sizeof(uintptr(0))]byte // as C aligns
	ioCounters                                   [6]uint64
	processMemoryLimit, jobMemoryLimit           uintptr
	peakProcessMemory, peakJobMemory             uintptr
}

// basicAccountingInformation is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type basicAccountingInformation struct {
	times                                                  [4]int64
	pageFaults, processes, activeProcesses, overTheirLimit uint32
}

// members is a job object, and a completion port on which it can be waited for.
type members struct {
	leader    int
	job, port syscall.Handle
}

// start starts the leader suspended, so that it can start nothing before it is in the job. If this
// program is killed in between, what stays is a process that never runs.
func start(cmd *exec.Cmd) (members, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: createSuspended | syscall.CREATE_NEW_PROCESS_GROUP,
	}
	if err := throughInterpreter(cmd); err != nil {
		return members{}, err
	}
	m, err := newJob()
	if err != nil {
		return members{}, err
	}
	if err := cmd.Start(); err != nil {
		m.closeHandles()
		return members{}, err
	}
	m.leader = cmd.Process.Pid
	handleErr := cmd.Process.WithHandle(func(process uintptr) { err = m.admit(process) })
	if handleErr != nil {
		err = handleErr
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Process.Wait()
		m.closeHandles()
		return members{}, err
	}
	return m, nil
}

// newJob makes a job that ends when its handle is closed, which nobody inherits.
func newJob() (m members, err error) {
	job, _, err := createJobObject.Call(0, 0)
	if job == 0 {
		return m, fmt.Errorf("a job object for it and its descendants: %w", err)
	}
	m.job = syscall.Handle(job)
	limits := extendedLimitInformation{limitFlags: killOnJobClose}
	ok, _, err := setInformationJobObject.Call(job, extendedLimits,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		m.closeHandles()
		return m, fmt.Errorf("a job object that ends its descendants: %w", err)
	}
	m.port, err = syscall.CreateIoCompletionPort(syscall.InvalidHandle, 0, 0, 1)
	if err != nil {
		m.closeHandles()
		return m, fmt.Errorf("a completion port to await its descendants: %w", err)
	}
	return m, nil
}

// admit puts the suspended leader into the job, and lets it run.
func (m members) admit(process uintptr) error {
	if ok, _, err := assignProcessToJobObject.Call(uintptr(m.job), process); ok == 0 {
		return fmt.Errorf("it cannot be put into a job object, without which its descendants "+
			"could outlive it; does this program run in a job that restricts what it uses?: %w", err)
	}
	if status, _, _ := ntResumeProcess.Call(process); status != 0 {
		return fmt.Errorf("it cannot be resumed: NTSTATUS %#x", status)
	}
	return nil
}

func (m members) terminate() error {
	ok, _, err := generateConsoleCtrlEvent.Call(ctrlBreak, uintptr(m.leader))
	if ok == 0 {
		return os.NewSyscallError("GenerateConsoleCtrlEvent", err)
	}
	return nil
}

func (m members) kill() error {
	ok, _, err := terminateJobObject.Call(uintptr(m.job), killed)
	if ok == 0 {
		return os.NewSyscallError("TerminateJobObject", err)
	}
	return nil
}

// close waits for the killed to be gone. The port wakes it up, but Windows does not promise to
// send a message for every process, so what counts is how many there are.
func (m members) close() {
	defer m.closeHandles()
	association := [2]uintptr{0, uintptr(m.port)} // JOBOBJECT_ASSOCIATE_COMPLETION_PORT
	setInformationJobObject.Call(uintptr(m.job), completionPort,
		uintptr(unsafe.Pointer(&association)), unsafe.Sizeof(association))
	for m.count() > 0 {
		m.kill() // one that was being started when the others were killed
		// Not syscall's, which stores what is a process id here as a pointer.
		var message uint32
		var key, process uintptr
		getQueuedCompletionStatus.Call(uintptr(m.port), uintptr(unsafe.Pointer(&message)),
			uintptr(unsafe.Pointer(&key)), uintptr(unsafe.Pointer(&process)), lookAgainAfter)
	}
}

// count is how many processes there are in the job.
func (m members) count() uint32 {
	var accounting basicAccountingInformation
	queryInformationJobObject.Call(uintptr(m.job), basicAccounting,
		uintptr(unsafe.Pointer(&accounting)), unsafe.Sizeof(accounting), 0)
	return accounting.activeProcesses
}

func (m members) closeHandles() {
	syscall.CloseHandle(m.job)
	if m.port != 0 {
		syscall.CloseHandle(m.port)
	}
}

// Signal is what ended a process, or 0 if it has exited: SIGKILL if that was a group's Kill or
// Close, SIGINT if the process left the answer to a CTRL_BREAK_EVENT or a Ctrl-C to Windows.
func Signal(state *os.ProcessState) syscall.Signal {
	switch uint32(state.ExitCode()) {
	case killed:
		return syscall.SIGKILL
	case controlCExit:
		return syscall.SIGINT
	}
	return 0
}
