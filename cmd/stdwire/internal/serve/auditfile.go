package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// An auditFile is the file of the audit log. It can be reopened while it is written to, for
// programs that rotate logs.
type auditFile struct {
	path string // absolute, so that reopening finds the same file

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

// Write appends lines to the current file.
func (a *auditFile) Write(lines []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(lines)
}

// reopen writes later lines to the file that has the path now, which it creates if needed. On an
// error it keeps the current file.
func (a *auditFile) reopen() error {
	f, err := a.open() // without the lock, because it may block
	if err != nil {
		return err
	}
	a.mu.Lock()
	old := a.f
	a.f = f
	a.mu.Unlock()
	_ = old.Close() // written data is not affected
	return nil
}

func (a *auditFile) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}

// isMoved reports whether the path no longer names the current file.
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

// rotateAudit reopens the audit log, if there is one, and reports whether it had been moved. A
// program that rotates logs moves the file before it sends SIGHUP; such a signal accepts no
// changes.
func (m *GatewayConfig) rotateAudit(log *slog.Logger) (rotated bool) {
	if m.auditLog == nil {
		return false
	}
	rotated = m.auditLog.isMoved()
	if err := m.auditLog.reopen(); err != nil {
		log.Warn("the audit log cannot be reopened; it continues in the current file",
			slog.Any("error", err))
	}
	return rotated
}
