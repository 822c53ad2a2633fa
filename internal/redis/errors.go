package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

var (
	// ErrUnavailable is matched by errors about a command that has not run, because the server
	// could not be reached, loads its data, or is a replica.
	ErrUnavailable = errors.New("redis: the server is not available")
	// ErrUnknown is matched by errors about a command that has been sent and whose reply was lost,
	// or was not waited for. The server may have run it.
	ErrUnknown = errors.New("redis: the outcome is unknown")
	// ErrCluster is matched by errors that a node of Redis Cluster causes.
	ErrCluster = errors.New("redis: the server is in cluster mode, which this client does not " +
		"speak: name a server outside of a cluster, or a proxy in front of it")
	// ErrClosed is matched by the errors of a client or subscription that was closed.
	ErrClosed = errors.New("redis: closed")
	// ErrTooLarge is matched by errors about a command that is larger than the client's bound.
	ErrTooLarge = errors.New("redis: the command is too large")
	// errProtocol is matched by errors about replies that are not RESP3, or too large.
	errProtocol = errors.New("redis: the server does not keep to the protocol")
)

// An Error is an error that the server replied with, such as "WRONGTYPE Operation against a key
// holding the wrong kind of value".
type Error string

func (e Error) Error() string { return "redis: the server replied " + string(e) }

// Code returns the first word of the error, such as WRONGTYPE.
func (e Error) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// IsCode reports whether err is an error of the server with that code.
func IsCode(err error, code string) bool {
	e, ok := errors.AsType[Error](err)
	return ok && e.Code() == code
}

// A notRun is a code of errors with which the server says that it has not run the command, but that
// it, or the server in its place, will.
var notRun = map[string]string{
	"LOADING":    "the server loads its data",
	"READONLY":   "the server is a replica",
	"MASTERDOWN": "the server is a replica without its master",
}

var (
	errReplica = errors.New(notRun["READONLY"])
	errSilent  = errors.New("the server was silent")
)

// isAway reports whether an error of connecting says that there is no server, or not yet one that
// runs commands. Otherwise somebody has to change something, such as a password or a certificate.
func isAway(err error) bool {
	if e, ok := errors.AsType[Error](err); ok {
		return notRun[e.Code()] != ""
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Op != "remote error" && e.Op != "local error" // alerts of TLS
	}
	for _, away := range []error{errReplica, errSilent, io.EOF, io.ErrUnexpectedEOF,
		context.DeadlineExceeded} {
		if errors.Is(err, away) {
			return true
		}
	}
	return false
}

func unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

func unknown(cause error) error { return fmt.Errorf("%w: %w", ErrUnknown, cause) }
