package doctor

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

const defaultListTimeout = 30 * time.Second

// Check checks one server as stdwire doctor does: it starts a process of its own, calls no tool,
// and ends the process. If id is not "", the server is the configured one with this id. Otherwise
// it is the server of t, for which Check and Resolve have been called.
func Check(ctx context.Context, std *term.Streams, t *target.Target, id string) (*Report, error) {
	d := &doctorOptions{from: t.Configured.ConfigFlags, listTimeout: defaultListTimeout}
	p := &subject{id: t.Name(), connect: func(ctx context.Context,
		o client.Options) (*client.Client, error) {
		return t.Start(ctx, o, func(*client.Command) {})
	}}
	if id != "" {
		d.ids = []string{id}
		subjects, err := d.subjects(std)
		if err != nil {
			return nil, err
		}
		p = subjects[0]
	}
	var err error
	if d.pins, err = target.OpenPins(); err != nil {
		return nil, err
	}
	return d.examine(ctx, p), nil
}
