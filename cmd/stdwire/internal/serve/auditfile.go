package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// An auditFile is the file of the audit log. It can be opened anew while it is written to, for
// programs that rotate logs.
type auditFile struct {
	path string // absolute: it is the same when it is opened anew

	mu sync.Mutex
	f  *os.File
}

func openAudit(path string) (*auditFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	a := &auditFile{path: path}
	a.f, err = a.open()
	return a, err
}

func (a *auditFile) open() (*os.File, error) {
	return os.OpenFile(a.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Write appends lines to the file that there is at the time.
func (a *auditFile) Write(lines []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(lines)
}

// reopen has everything from now on written to the file that has the name by now, a new one if
// there is none. If that cannot be opened, it stays with the one it has.
func (a *auditFile) reopen() error {
	f, err := a.open() // not under the lock: it may take long
	if err != nil {
		return err
	}
	a.mu.Lock()
	old := a.f
	a.f = f
	a.mu.Unlock()
	_ = old.Close() // what was written to it is there
	return nil
}

func (a *auditFile) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}

// isMoved reports whether the name is no longer that of the file that is written to.
func (a *auditFile) isMoved() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, err := os.Stat(a.path)
	if err != nil {
		return true
	}
	open, err := a.f.Stat()
	return err == nil && !os.SameFile(now, open)
}

// rotateAudit opens the file of the audit log anew, if there is one, and reports whether it had
// been moved away. That is what a program that rotates logs has done before it sends SIGHUP: it is
// no word of the operator about anything else.
func (m *GatewayConfig) rotateAudit(log *slog.Logger) (rotated bool) {
	if m.auditLog == nil {
		return false
	}
	rotated = m.auditLog.isMoved()
	if err := m.auditLog.reopen(); err != nil {
		log.Warn("the audit log cannot be opened anew; it goes on where it was", slog.Any("error", err))
	}
	return rotated
}
