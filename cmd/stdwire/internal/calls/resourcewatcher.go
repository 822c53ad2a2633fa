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

// A resourceWatcher waits for resources to change.
type resourceWatcher struct {
	changed chan string // URIs
	ended   context.Context
	stop    context.CancelFunc // ends notify
}

func newResourceWatcher(ctx context.Context) *resourceWatcher {
	w := &resourceWatcher{changed: make(chan string)}
	w.ended, w.stop = context.WithCancel(ctx)
	return w
}

// notify reports that a resource has changed. It blocks until run receives the change; the client
// coalesces other changes meanwhile.
func (w *resourceWatcher) notify(uri string) {
	select {
	case w.changed <- uri:
	case <-w.ended.Done():
	}
}

// run shows resources, and each again when it changes, until ctx or the connection ends.
func (w *resourceWatcher) run(ctx context.Context, std *term.Streams, c *client.Client,
	uris []string, show func(uri string) error) error {
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
			default: // the next change may restore it
				std.Err.Printf("%s", f.Error())
			}
		}
		first = false
		if err := std.Out.Flush(); err != nil {
			return err
		}
		select {
		case changed := <-w.changed:
			printTimed(std, changed+" has changed")
			again = affectedBy(changed, uris)
		case <-c.Done():
			again = uris[:1] // fails with the reason
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// affectedBy returns the resources that a change of changed affects: that resource and those above
// it, or all if none matches, because servers may spell a URI differently.
func affectedBy(changed string, uris []string) []string {
	related := slices.DeleteFunc(slices.Clone(uris), func(uri string) bool {
		return changed != uri && !strings.HasPrefix(changed, strings.TrimSuffix(uri, "/")+"/")
	})
	if len(related) == 0 {
		return uris
	}
	return related
}
