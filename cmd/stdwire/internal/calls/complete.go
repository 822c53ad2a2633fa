package calls

import (
	"context"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CompleteCommand is stdwire complete.
func CompleteCommand() command.Command {
	return command.Command{
		Name:    "complete",
		Usage:   "prompt NAME ARGUMENT [VALUE] [OTHER=TEXT]… | resource TEMPLATE VARIABLE [VALUE] [OTHER=TEXT]… [-o text|json] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "complete an argument of a prompt or template",
		Help: `Prints the server's suggestions for an argument of a prompt, or a variable of a resource
template, that begin with VALUE: one a line, the most likely first. OTHER=TEXT gives the value of
another argument. If the server has more suggestions, a note on stderr says so. A VALUE
that contains = is written as ARGUMENT=VALUE.

  stdwire complete prompt completable-prompt name A department=Sales \
    -- npx -y @modelcontextprotocol/server-everything`,
		Make: func() (command.Grammar, command.Runner) {
			c := &Completion{target: target.NewTarget().OrServers()}
			flags := append([]command.Flag{command.FormatFlag(&c.Output, "text", "json")},
				c.target.Flags()...)
			return command.Grammar{Flags: flags, Word: c.Word, Connection: c.target.SetConnection,
				Command: c.target.Command}, c.run
		},
	}
}

// A Completion holds the options of stdwire complete.
type Completion struct {
	target   *target.Target
	words    []string // prompt or resource, its name, the argument
	value    string
	hasValue bool
	known    textArguments // the other arguments
	Output   string
}

// Word parses an argument.
func (c *Completion) Word(word string) error {
	switch given := len(c.words); {
	case given == 0 && word != "prompt" && word != "resource":
		return command.Usagef("%q is neither prompt nor resource",
			word).WithHint(near.DidYouMean(word, []string{"prompt", "resource"}))
	case given < 3 && word == "":
		return command.Usagef("a name is empty")
	case given < 3:
		c.words = append(c.words, word)
		return nil
	}
	if value, ok := strings.CutPrefix(word, c.words[2]+"="); ok || !strings.Contains(word, "=") {
		if c.hasValue {
			return command.Usagef("unexpected argument %q: there is a value already", word)
		}
		if !ok {
			value = word
		}
		c.value, c.hasValue = value, true
		return nil
	}
	return c.known.add(word)
}

func (c *Completion) run(ctx context.Context, std *term.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.target.Use(ctx, std, func(cl *client.Client) error { return c.Print(ctx, std, cl) })
}

// check returns an error if an argument is missing.
func (c *Completion) check() error {
	switch len(c.words) {
	case 0:
		return command.Usagef("of what, a prompt or a resource?")
	case 1:
		return command.Usagef("which one?").WithHint("stdwire ls " +
			map[string]string{"prompt": "prompts", "resource": "templates"}[c.words[0]] +
			" lists them")
	case 2:
		return command.Usagef("which argument?")
	}
	return nil
}

// Print asks the server and prints its suggestions.
func (c *Completion) Print(ctx context.Context, std *term.Streams, cl *client.Client) error {
	if err := c.check(); err != nil {
		return err
	}
	ref, err := c.reference(ctx, cl)
	if err != nil {
		return err
	}
	return c.ask(ctx, std, cl, ref)
}

// reference returns the prompt or resource template of the argument. It looks them up first,
// because many servers answer requests about unknown ones with an empty list.
func (c *Completion) reference(ctx context.Context, cl *client.Client) (ref mcp.CompleteReference,
	err error) {
	kind, name, argument := c.words[0], c.words[1], c.words[2]
	if kind == "resource" {
		return mcp.CompleteReference{Type: mcp.RefResource, URI: name}, findTemplate(ctx, cl, name)
	}
	definition, err := FindPrompt(ctx, cl, name)
	if err != nil {
		return ref, err
	}
	var names []string
	for _, a := range definition.Arguments {
		if a.Name == argument {
			return mcp.CompleteReference{Type: mcp.RefPrompt, Name: name}, nil
		}
		names = append(names, a.Name)
	}
	f := command.BadArgs("there is no argument %q", argument)
	f.What = name
	return ref, f.WithHint(output.PromptSignature(definition)).WithHint(
		near.DidYouMean(argument, names))
}

// findTemplate returns an error that lists the resource templates, if name is neither one of them
// nor a URI.
func findTemplate(ctx context.Context, c *client.Client, name string) error {
	if !strings.Contains(name, "{") {
		return nil
	}
	_, err := target.Find(c.ResourceTemplates(ctx), mcp.KindResourceTemplate, name,
		func(t *mcp.ResourceTemplate) string { return t.URITemplate })
	return err
}

// completionContextSince is the first revision in which completion/complete carries known
// arguments.
const completionContextSince mcp.Revision = "2025-06-18"

func (c *Completion) ask(ctx context.Context, std *term.Streams, cl *client.Client,
	ref mcp.CompleteReference) error {
	params := &mcp.CompleteParams{Ref: ref,
		Argument: mcp.CompleteArgument{Name: c.words[2], Value: c.value}}
	switch {
	case c.known == nil:
	case cl.Revision() < completionContextSince:
		std.Err.Printf("note: the server uses %s, in which requests cannot carry the other arguments",
			cl.Revision())
	default:
		params.Context = &mcp.CompleteContext{Arguments: c.known}
	}
	raw, err := cl.Call(ctx, mcp.MethodComplete, params)
	if err != nil {
		if f := target.Explain(err); f != nil {
			f.What = c.words[1]
			return f
		}
		return err
	}
	if c.Output == "json" {
		std.Out.PrintJSON(raw)
	}
	var result mcp.CompleteResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		return (&output.Printer{Std: std, Format: c.Output}).InvalidResult(c.words[1], raw, err)
	}
	if c.Output == "json" {
		return nil
	}
	values := result.Completion.Values
	for _, value := range values {
		std.Out.PrintUntrustedLine(value)
	}
	switch total := result.Completion.Total; {
	case total != nil && *total > int64(len(values)):
		std.Err.Printf("note: these are %d of %d", len(values), *total)
	case result.Completion.HasMore:
		std.Err.Printf("note: there are more than these %d", len(values))
	case len(values) == 0:
		std.Err.Printf("note: the server suggests nothing")
	}
	return nil
}
