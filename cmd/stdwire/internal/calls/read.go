package calls

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ReadCommand is stdwire read.
func ReadCommand() command.Command {
	return command.Command{
		Name: "read", Usage: "URI… [-o text|json|raw] [--save DIR] [--watch] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "read resources of a server",
		Help: `A URI is that of a listed resource, or matches a template (see stdwire ls). text prints text, and
the size of binary content, which --save writes to a file; json prints the result as the server
wrote it, one line for each URI; raw prints the content alone, for several URIs one after the
other.

--watch subscribes to the resources and prints each again when it changes, until Ctrl-C or the
end of the server.

  stdwire read demo://resource/dynamic/text/1 \
    -- npx -y @modelcontextprotocol/server-everything
  stdwire read file:///logo.png -o raw -- files-server > logo.png`,
		Make: func() (command.Grammar, command.Runner) {
			r := &Read{target: target.NewTarget().OrServers()}
			flags := append([]command.Flag{
				command.FormatFlag(&r.Output, "text", "json", "raw"),
				output.SaveFlag(&r.save),
				TimeoutFlag(&r.Timeout),
				command.SwitchFlag(&r.watch, "--watch", "print a resource again when it changes"),
			}, r.target.Flags()...)
			return command.Grammar{Flags: flags, Word: r.word, Connection: r.target.SetConnection,
				Command: r.target.Command}, r.run
		},
	}
}

// A Read holds the options of stdwire read.
type Read struct {
	target  *target.Target
	URIs    []string
	Timeout time.Duration
	watch   bool
	Output  string
	save    string // directory; "": nothing is saved
}

func (r *Read) word(word string) error {
	if word == "" {
		return command.Usagef("the URI is empty")
	}
	r.URIs = append(r.URIs, word)
	return nil
}

func (r *Read) run(ctx context.Context, std *term.Streams) error {
	if r.URIs == nil {
		return command.Usagef("which resource?").WithHint("stdwire ls resources lists them")
	}
	saver, err := output.OpenSaver(r.save)
	if err != nil {
		return err
	}
	defer saver.Close()
	var w *resourceWatcher
	if r.watch {
		w = newResourceWatcher(ctx)
		defer w.stop()
		r.target.Options.OnResourceUpdated = w.notify
	}
	return r.target.Use(ctx, std, func(c *client.Client) error {
		show := func(uri string) error {
			v := &output.Printer{Std: std, Format: r.Output, Save: saver}
			return r.Show(ctx, v, c, uri)
		}
		if w != nil {
			return w.run(ctx, std, c, r.URIs, show)
		}
		for _, uri := range r.URIs {
			if err := show(uri); err != nil {
				return err
			}
		}
		return nil
	})
}

// Show reads a resource and prints it.
func (r *Read) Show(ctx context.Context, v *output.Printer, c *client.Client, uri string) error {
	if c.Capabilities().Resources == nil {
		return target.Unsupported("resources")
	}
	follow := progressView{std: v.Std, what: uri}
	raw, err := follow.send(ctx, func(progress ...client.CallOption) (json.RawMessage, error) {
		return c.Call(ctx, mcp.MethodReadResource, &mcp.ReadResourceParams{URI: uri},
			append(progress, client.Timeout(r.Timeout))...)
	})
	if err != nil {
		return readFailure(ctx, c, uri, err)
	}
	if v.Format == "json" {
		v.Std.Out.PrintJSON(raw)
	}
	var result mcp.ReadResourceResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		return v.InvalidResult(uri, raw, err)
	}
	for i := range result.Contents {
		if v.Format == "text" && len(result.Contents)+len(r.URIs) > 2 {
			v.Std.Out.Print("==> " + printable.Line(result.Contents[i].URI) + " <==\n")
		}
		v.Resource(&result.Contents[i])
	}
	if len(result.Contents) == 0 && v.Format == "text" {
		v.Std.Err.Printf("%s: it is empty", printable.Line(uri))
	}
	return v.Err
}

// readFailure returns the failure to read a resource. If the resource does not exist, it suggests
// similar URIs.
func readFailure(ctx context.Context, c *client.Client, uri string, err error) error {
	f := target.Explain(err)
	if f == nil {
		return err
	}
	f.What = uri
	refused, ok := errors.AsType[*rpc.Error](err)
	if !ok || refused.Code != mcp.CodeResourceNotFound && refused.Code != rpc.CodeInvalidParams {
		return f
	}
	var uris []string
	for resource, err := range client.OmitInvalid(c.Resources(ctx)) {
		switch {
		case err != nil: // report the first error, not the one of the list
			return f
		case resource.URI == uri:
			return f
		}
		uris = append(uris, resource.URI)
	}
	f.Code = "not_found"
	if f.Hint = near.DidYouMean(uri, uris); f.Hint == "" {
		f.Hint = "stdwire ls resources and stdwire ls templates list what there is"
		if text := strings.Join(uris, ", "); uris != nil && len(text) < 500 {
			f.Hint = "there are " + text + ", and those of stdwire ls templates"
		}
	}
	return f
}
