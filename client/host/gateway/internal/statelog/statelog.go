// Package statelog logs what becomes of the servers of a gateway.
package statelog

import (
	"context"
	"log/slog"

	"github.com/stdwire/stdwire/client/host"
)

// Log logs that a server has started, stopped or failed. The state Starting has no line, because
// another state with a line follows, nor has what the user of the manager does.
func Log(log *slog.Logger, s host.Status) {
	level, message := slog.LevelInfo, ""
	attrs := []slog.Attr{slog.String("server", s.ID)}
	switch s.State {
	case host.Ready:
		message = "gateway: a server has started"
		if s.Process != nil {
			attrs = append(attrs, slog.Int("pid", s.Process.Pid))
		}
	case host.Stopped:
		if s.Since.IsZero() || s.Err != nil { // it was only enabled, or Waiting or Failed follows
			return
		}
		message = "gateway: a server has stopped"
	case host.Waiting:
		level, message = slog.LevelWarn, "gateway: a server has failed and starts again soon"
	case host.Failed:
		level, message = slog.LevelWarn, "gateway: a server has failed too often and pauses"
	default:
		return
	}
	if s.Err != nil {
		attrs = append(attrs, slog.Any("error", &host.UnavailableError{ID: s.ID, Err: s.Err}),
			slog.Time("next_try", s.RetryAt))
	}
	log.LogAttrs(context.Background(), level, message, attrs...)
}
