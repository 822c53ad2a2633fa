//go:build !unix

package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
)

var errNotUnix = errors.New("this is for Unix only: use 127.0.0.1:8080 or another address")

func listenUnix(string) (net.Listener, error) { return nil, errNotUnix }

func inheritSocket() (net.Listener, error) { return nil, errNotUnix }

// A serviceManager is systemd, which other systems do not have.
type serviceManager struct{}

func newServiceManager(*slog.Logger) *serviceManager { return &serviceManager{} }

func (*serviceManager) notify(string) {}

func (*serviceManager) watch(context.Context, func()) {}

func (*serviceManager) close() {}
