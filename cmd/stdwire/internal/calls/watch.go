package calls

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A watch waits for resources to change.
type watch struct {
	changed chan string // URIs
	ended   context.Context
	stop    context.CancelFunc // nobody reads changed any more
}

func newWatch(ctx context.Context) *watch {
	w := &watch{changed: make(chan string)}
	w.ended, w.stop = context.WithCancel(ctx)
	return w
}

// tell hands over the URI of a resource that has changed. While nobody takes it the client collects what else changes.
func (w *watch) tell(uri string) {
	select {
	case w.changed <- uri:
	case <-w.ended.Done():
	}
}

// run shows resources, and again each that has changed, until ctx or the connection ends.
func (w *watch) run(ctx context.Context, std *term.Streams, c *client.Client, uris []string, show func(uri string) error) error {
	if err := c.Subscribe(ctx, uris...); err != nil { // first, so that no change is missed
		return err
	}
	again, first := uris, true
	for {
		for _, uri := range again {
			err := show(uri)
			f, ok := errors.AsType[*command.Failure](err)
			switch {
			case err == nil:
			case first || !ok || command.ExitCodes[f.Code] != command.ExitCodes["refused"]:
				return err
			default: // it may be back with the next change
				std.Err.Printf("%s", f.Error())
			}
		}
		first = false
		if err := std.Out.Flush(); err != nil {
			return err
		}
		select {
		case changed := <-w.changed:
			timedLine(std, changed+" has changed")
			again = about(changed, uris)
		case <-c.Done():
			again = uris[:1] // which fails, and says why
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// about returns the resources that a change is about: that itself and those above it, or if none is, all, because servers may write a URI in another way.
func about(changed string, uris []string) []string {
	related := slices.DeleteFunc(slices.Clone(uris), func(uri string) bool {
		return changed != uri && !strings.HasPrefix(changed, strings.TrimSuffix(uri, "/")+"/")
	})
	if len(related) == 0 {
		return uris
	}
	return related
}
