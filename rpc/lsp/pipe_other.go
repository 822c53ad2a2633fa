//go:build !windows

package lsp

import (
	"context"
	"io"
	"net"
)

// dialPipe connects to a Unix socket.
func dialPipe(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", name)
}
