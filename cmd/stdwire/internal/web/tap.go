package web

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/relay"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// runTap runs a server with the streams of this program, as stdwire tap does, and serves the page
// while the server runs. Only the server writes to standard output.
func (o *options) runTap(ctx context.Context, cancel context.CancelFunc, std *term.Streams,
	s *site) error {
	// the relay forwards the signals that would end this program
	listener, access, address, err := o.listenAt(std, s)
	if err != nil {
		return err
	}
	_, _ = std.Err.Write([]byte(address + "\n"))
	o.browse(std, address)
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx, listener, access) }()
	recorder := s.traffic.NewRecorder(s.title, []string{s.title})
	r := relay.Relay{Words: o.target.Words, Up: recorder.Client.Copy, Down: recorder.Server.Copy}
	status, err := r.Run(ctx, std)
	recorder.Close(int(status), time.Second)
	cancel()
	<-served
	if err != nil {
		return err
	}
	return status
}
