//go:build unix

package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// inheritSocket returns the socket that systemd passes (sd_listen_fds(3)).
func inheritSocket() (net.Listener, error) {
	const first = 3 // SD_LISTEN_FDS_START
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // it is not for the programs that this one starts
	}
	switch {
	case count == "" || count == "0":
		return nil, errors.New("no socket was passed: LISTEN_FDS is not set")
	case pid != strconv.Itoa(os.Getpid()):
		return nil, fmt.Errorf("the socket was passed to the process %q, which is not this one", pid)
	case count != "1":
		return nil, fmt.Errorf("%s sockets were passed, and one is served: leave one ListenStream",
			count)
	}
	syscall.CloseOnExec(first)
	f := os.NewFile(first, "LISTEN_FD_3")
	defer f.Close()
	l, err := net.FileListener(f) // with a descriptor of its own
	if err != nil {
		return nil, fmt.Errorf("the socket that was passed cannot be listened to: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // systemd keeps it
	}
	return l, nil
}

// A serviceManager is told about the state of this process (sd_notify(3)).
type serviceManager struct {
	conn     *net.UnixConn // nil if there is no service manager
	watchdog time.Duration // the interval of WATCHDOG_USEC; 0: no watchdog
	log      *slog.Logger
}

// newServiceManager returns the service manager that started this process, if one did.
func newServiceManager(log *slog.Logger) *serviceManager {
	m := &serviceManager{log: log}
	path, usec, pid := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC"),
		os.Getenv("WATCHDOG_PID")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // it is not for the programs that this one starts
	}
	if path == "" {
		return m
	}
	// An abstract socket has a leading @, here as there.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		log.Warn("the service manager cannot be told that this program is ready",
			slog.Any("error", err))
		return m
	}
	m.conn = conn
	n, err := strconv.ParseInt(usec, 10, 64)
	if err == nil && n > 0 && n <= int64(24*time.Hour/time.Microsecond) &&
		(pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.watchdog = time.Duration(n) * time.Microsecond
	}
	return m
}

// notify sends a state, such as READY=1, to the service manager.
func (m *serviceManager) notify(state string) {
	if m.conn == nil {
		return
	}
	_ = m.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := m.conn.Write([]byte(state)); err != nil {
		m.log.Warn("the service manager cannot be told a state", slog.String("state", state),
			slog.Any("error", err))
	}
}

// watch notifies the watchdog twice in each interval until ctx ends. Before each notification it
// calls alive, which blocks if the program cannot answer.
func (m *serviceManager) watch(ctx context.Context, alive func()) {
	if m.watchdog == 0 {
		return
	}
	ticker := time.NewTicker(m.watchdog / 2)
	defer ticker.Stop()
	for {
		alive()
		m.notify("WATCHDOG=1")
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (m *serviceManager) close() {
	if m.conn != nil {
		_ = m.conn.Close()
	}
}
