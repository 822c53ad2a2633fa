package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func readCommand() command {
	return command{
		name: "read", usage: "URI… [-o text|json|raw] [--save DIR] [--watch] [FLAG]… [-- SERVER-COMMAND…]",
		summary: "read resources of a server",
		help: `Any URI may be given: those on the list, and those that a template makes (see stdwire ls). As text, what is no text is only counted, or saved with --save; json is the result as the server wrote it, one line for each URI; raw is the content itself and nothing else, of several one behind the other.

With --watch the server is asked to tell of changes, and what has changed is printed anew, until Ctrl-C or the server ends it.

  stdwire read demo://resource/dynamic/text/1 \
    -- npx -y @modelcontextprotocol/server-everything
  stdwire read file:///logo.png -o raw -- files-server > logo.png`,
		make: func() (grammar, runner) {
			r := &read{target: newTarget()}
			flags := append([]flag{
				format(&r.output, "text", "json", "raw"),
				saveFlag(&r.save),
				timeoutFlag(&r.timeout),
				toggle(&r.watch, "--watch", "print again what changes"),
			}, r.target.flags()...)
			return grammar{flags: flags, word: r.word, command: r.target.command}, r.run
		},
	}
}

// A read is what the command line says of one.
type read struct {
	target  *target
	uris    []string
	timeout time.Duration
	watch   bool
	output  string
	save    string // directory; "": nothing is saved
}

func (r *read) word(word string) error {
	if word == "" {
		return usagef("the URI is empty")
	}
	r.uris = append(r.uris, word)
	return nil
}

func (r *read) run(ctx context.Context, std *streams) error {
	if r.uris == nil {
		return usagef("which resource?").withHint("stdwire ls resources lists them")
	}
	saver, err := openSaver(r.save)
	if err != nil {
		return err
	}
	defer saver.close()
	var w *watch
	if r.watch {
		w = newWatch(ctx)
		defer w.stop()
		r.target.options.OnResourceUpdated = w.tell
	}
	return r.target.use(ctx, std, func(c *client.Client) error {
		show := func(uri string) error {
			v := &view{std: std, output: r.output, save: saver}
			return r.show(ctx, v, c, uri)
		}
		if w != nil {
			return w.run(ctx, std, c, r.uris, show)
		}
		for _, uri := range r.uris {
			if err := show(uri); err != nil {
				return err
			}
		}
		return nil
	})
}

// show reads a resource, and prints it.
func (r *read) show(ctx context.Context, v *view, c *client.Client, uri string) error {
	if c.Capabilities().Resources == nil {
		return without("resources")
	}
	follow := following{std: v.std, what: uri}
	raw, err := follow.through(ctx, func(progress ...client.CallOption) (json.RawMessage, error) {
		return c.Call(ctx, mcp.MethodReadResource, &mcp.ReadResourceParams{URI: uri}, append(progress, client.Timeout(r.timeout))...)
	})
	if err != nil {
		return unreadable(ctx, c, uri, err)
	}
	if v.output == "json" {
		v.std.out.json(raw)
	}
	var result mcp.ReadResourceResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		return v.noResult(uri, raw, err)
	}
	for i := range result.Contents {
		if v.output == "text" && len(result.Contents)+len(r.uris) > 2 {
			v.std.out.print("==> " + printable.Line(result.Contents[i].URI) + " <==\n")
		}
		v.resource(&result.Contents[i])
	}
	if len(result.Contents) == 0 && v.output == "text" {
		v.std.err.printf("%s: there is nothing in it", printable.Line(uri))
	}
	return v.err
}

// unreadable is the failure to read a resource. If it is because there is none, it says what there may have been meant.
func unreadable(ctx context.Context, c *client.Client, uri string, err error) error {
	f := explain(err)
	if f == nil {
		return err
	}
	f.what = uri
	refused, ok := errors.AsType[*rpc.Error](err)
	if !ok || refused.Code != mcp.CodeResourceNotFound && refused.Code != rpc.CodeInvalidParams {
		return f
	}
	var uris []string
	for resource, err := range c.Resources(ctx) {
		switch {
		case err != nil: // what was wanted is not there; that the list is not either is no news
			return f
		case resource.URI == uri:
			return f
		}
		uris = append(uris, resource.URI)
	}
	f.code = "not_found"
	if f.hint = near.DidYouMean(uri, uris); f.hint == "" {
		f.hint = "stdwire ls resources and stdwire ls templates list what there is"
		if text := strings.Join(uris, ", "); uris != nil && len(text) < 500 {
			f.hint = "there are " + text + ", and those of stdwire ls templates"
		}
	}
	return f
}
