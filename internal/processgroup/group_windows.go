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
	killed          = 0xe0000009 // exit status after kill: bits for "error" and "not Microsoft's"
	ctrlBreak       = 1          // CTRL_BREAK_EVENT
	killOnJobClose  = 0x2000     // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	basicAccounting = 1          // JobObjectBasicAccountingInformation
	completionPort  = 7          // JobObjectAssociateCompletionPortInformation
	extendedLimits  = 9          // JobObjectExtendedLimitInformation
	pollInterval    = 100        // milliseconds
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

// systemGroup is a job object, and a completion port that reports the end of its processes.
type systemGroup struct {
	leader    int
	job, port syscall.Handle
}

// start starts the leader suspended, so that it starts no other process before it is in the job. If
// this program is killed in between, a process that never runs remains.
func start(cmd *exec.Cmd) (systemGroup, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: createSuspended | syscall.CREATE_NEW_PROCESS_GROUP,
	}
	if err := runByCmdExe(cmd); err != nil {
		return systemGroup{}, err
	}
	g, err := newJob()
	if err != nil {
		return systemGroup{}, err
	}
	if err := cmd.Start(); err != nil {
		g.closeHandles()
		return systemGroup{}, err
	}
	g.leader = cmd.Process.Pid
	handleErr := cmd.Process.WithHandle(func(process uintptr) { err = g.assign(process) })
	if handleErr != nil {
		err = handleErr
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Process.Wait()
		g.closeHandles()
		return systemGroup{}, err
	}
	return g, nil
}

// newJob creates a job that ends when its handle is closed. No process inherits the handle.
func newJob() (g systemGroup, err error) {
	job, _, err := createJobObject.Call(0, 0)
	if job == 0 {
		return g, fmt.Errorf("a job object for it and its descendants: %w", err)
	}
	g.job = syscall.Handle(job)
	limits := extendedLimitInformation{limitFlags: killOnJobClose}
	ok, _, err := setInformationJobObject.Call(job, extendedLimits,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		g.closeHandles()
		return g, fmt.Errorf("a job object that ends its descendants: %w", err)
	}
	g.port, err = syscall.CreateIoCompletionPort(syscall.InvalidHandle, 0, 0, 1)
	if err != nil {
		g.closeHandles()
		return g, fmt.Errorf("a completion port to await its descendants: %w", err)
	}
	return g, nil
}

// assign puts the suspended leader into the job and resumes it.
func (g systemGroup) assign(process uintptr) error {
	if ok, _, err := assignProcessToJobObject.Call(uintptr(g.job), process); ok == 0 {
		return fmt.Errorf("it cannot be put into a job object, without which its descendants "+
			"could outlive it; does this program run in a job that restricts what it uses?: %w",
			err)
	}
	if status, _, _ := ntResumeProcess.Call(process); status != 0 {
		return fmt.Errorf("it cannot be resumed: NTSTATUS %#x", status)
	}
	return nil
}

func (g systemGroup) terminate() error {
	ok, _, err := generateConsoleCtrlEvent.Call(ctrlBreak, uintptr(g.leader))
	if ok == 0 {
		return os.NewSyscallError("GenerateConsoleCtrlEvent", err)
	}
	return nil
}

func (g systemGroup) kill() error {
	ok, _, err := terminateJobObject.Call(uintptr(g.job), killed)
	if ok == 0 {
		return os.NewSyscallError("TerminateJobObject", err)
	}
	return nil
}

// close waits until the killed processes are gone. Messages at the port wake it up, but Windows
// does not guarantee one for every process, so close counts the processes themselves.
func (g systemGroup) close() {
	defer g.closeHandles()
	association := [2]uintptr{0, uintptr(g.port)} // JOBOBJECT_ASSOCIATE_COMPLETION_PORT
	setInformationJobObject.Call(uintptr(g.job), completionPort,
		uintptr(unsafe.Pointer(&association)), unsafe.Sizeof(association))
	for g.count() > 0 {
		g.kill() // a process that was being started when the others were killed
		// The function of package syscall stores the process id as a pointer.
		var message uint32
		var key, process uintptr
		getQueuedCompletionStatus.Call(uintptr(g.port), uintptr(unsafe.Pointer(&message)),
			uintptr(unsafe.Pointer(&key)), uintptr(unsafe.Pointer(&process)), pollInterval)
	}
}

// count returns the number of processes in the job.
func (g systemGroup) count() uint32 {
	var accounting basicAccountingInformation
	queryInformationJobObject.Call(uintptr(g.job), basicAccounting,
		uintptr(unsafe.Pointer(&accounting)), unsafe.Sizeof(accounting), 0)
	return accounting.activeProcesses
}

func (g systemGroup) closeHandles() {
	syscall.CloseHandle(g.job)
	if g.port != 0 {
		syscall.CloseHandle(g.port)
	}
}

// exitSignal returns the signal that stands for how a process ended; see [ExitStatus].
func exitSignal(state *os.ProcessState) syscall.Signal {
	switch uint32(state.ExitCode()) {
	case killed:
		return syscall.SIGKILL
	case controlCExit:
		return syscall.SIGINT
	}
	return 0
}
