package output

import (
	"context"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
)

// ReadApps reads the apps of all tools of a server, each once, in the order of the tools.
// unreadable maps the URI of each app that was not read to the reason. The error is that of the
// list of tools, or of ctx.
func ReadApps(ctx context.Context, c *client.Client, opts ...client.CallOption) (all []*apps.App,
	unreadable map[string]error, err error) {
	seen := map[string]bool{}
	unreadable = map[string]error{}
	for tool, err := range client.OmitInvalid(c.Tools(ctx, opts...)) {
		if err != nil {
			return all, unreadable, err
		}
		ui, has := apps.Of(tool)
		if !has || seen[ui.ResourceURI] {
			continue
		}
		seen[ui.ResourceURI] = true
		a, err := apps.Read(ctx, c, ui.ResourceURI, opts...)
		if ctx.Err() != nil {
			return all, unreadable, context.Cause(ctx)
		}
		if err != nil {
			unreadable[ui.ResourceURI] = err
			continue
		}
		all = append(all, a)
	}
	return all, unreadable, nil
}
