package socket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
)

// connectionSuffix ends the names of the sockets of connections: NAME.RANDOM.conn. The random part
// makes it safe to remove the socket of an ended process, as no other process listens there.
const connectionSuffix = ".conn"

// CheckConnectionName returns an error unless name has 1 to 32 letters of ASCII, digits, dots,
// hyphens and underscores, and begins with a letter or digit.
func CheckConnectionName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%.40q cannot be the name of a connection: a name has 1 to 32 letters and digits, and after the first also ., - and _",
			name)
	}
	return nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// A NameTakenError is the error of [ListenConnection] for the name of another connection.
type NameTakenError struct{ Name string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("there is a connection @%s already", e.Name)
}

// ListenConnection listens on the socket of a connection, which other processes find by its name,
// and returns its path. The error is a [*NameTakenError] if another process listens under this
// name. Of two processes that begin at the same time both may fail.
func ListenConnection(ctx context.Context, name string) (net.Listener, string, error) {
	if err := CheckConnectionName(name); err != nil {
		return nil, "", err
	}
	listener, path, err := listenLocally(name + "." + rand.Text()[:6] + connectionSuffix)
	if err != nil {
		return nil, "", err
	}
	for _, other := range connectionSockets(name) {
		if other == path {
			continue
		}
		conn, err := ReachSocket(ctx, other)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_ = conn.Close()
		}
		_ = os.Remove(path)
		_ = listener.Close()
		return nil, "", &NameTakenError{name}
	}
	return listener, path, nil
}

// A NoConnectionError is the error of [ReachConnection] if no process has the connection.
type NoConnectionError struct {
	Name  string
	Ended bool   // its process ended without removing its socket
	Near  string // a suggestion of another name; may be ""
}

func (e *NoConnectionError) Error() string {
	if e.Ended {
		return fmt.Sprintf("the connection @%s has ended: its process was killed", e.Name)
	}
	return fmt.Sprintf("there is no connection @%.40s", e.Name)
}

// ReachConnection connects to the socket of a connection. The error is a [*NoConnectionError] if
// there is none of this name.
func ReachConnection(ctx context.Context, name string) (net.Conn, error) {
	missing := &NoConnectionError{Name: name}
	for _, path := range connectionSockets(name) {
		conn, err := ReachSocket(ctx, path)
		if !errors.Is(err, fs.ErrNotExist) {
			return conn, err
		}
		missing.Ended = true
	}
	SweepSockets(ctx) // only connections that exist are suggested
	var names []string
	for _, known := range ConnectionNames() {
		if known != name {
			names = append(names, "@"+known)
		}
	}
	missing.Near = near.Instead("@"+name, names)
	return nil, missing
}

// ConnectionNames returns the names of the connections, sorted. It does not reach them, so that
// some may have ended.
func ConnectionNames() (names []string) {
	for _, path := range sockets(connectionSuffix) {
		names = append(names, connectionName(path))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// connectionSockets returns the paths of the sockets of a connection. There are several if
// processes ended without removing them.
func connectionSockets(name string) []string {
	return slices.DeleteFunc(sockets(connectionSuffix),
		func(path string) bool { return connectionName(path) != name })
}

func connectionName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), connectionSuffix)
	return name[:max(0, strings.LastIndexByte(name, '.'))]
}
