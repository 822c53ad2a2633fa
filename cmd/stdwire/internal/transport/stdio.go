package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// Stdio serves one client on standard input and output, until it closes its end or ctx ends,
// as [server.Server.ServeStdio] does. From the end of the input on, the servers have to end in
// time.
func Stdio(ctx context.Context, std *term.Streams, s *server.Server,
	log *slog.Logger) error {
	defer context.AfterFunc(ctx, func() { logShutdown(ctx, log) })()
	err := s.Serve(ctx, &hostStream{rpc.Stdio(), std.Servers})
	const grace = time.Second // for tasks to end
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, s.Close(ending))
}

// ShutdownTimeout is how long calls on stdio may continue after a signal. The servers get SIGTERM
// soon after.
const ShutdownTimeout = 400 * time.Millisecond

// logShutdown logs why ctx has ended.
func logShutdown(ctx context.Context, log *slog.Logger) {
	log.Info("shutting down: requests in progress get little time, and then an error that says so",
		"cause", context.Cause(ctx))
}

// A hostStream is a stream that reports the end of its input.
type hostStream struct {
	io.ReadWriteCloser
	servers *guard.Servers
}

func (h *hostStream) Read(b []byte) (int, error) {
	n, err := h.ReadWriteCloser.Read(b)
	if err == io.EOF {
		h.servers.InputEnded()
	}
	return n, err
}
