package main

import (
	"context"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func completeCommand() command {
	return command{
		name: "complete", usage: "prompt NAME ARGUMENT [VALUE] [OTHER=TEXT]… | resource TEMPLATE VARIABLE [VALUE] [OTHER=TEXT]… [-o text|json] [FLAG]… [-- SERVER-COMMAND…]",
		summary: "ask a server what an argument may become",
		help: `Prints the server's suggestions for an argument of a prompt, or a variable of a resource template, that begins as VALUE does: one a line, the likeliest first. OTHER=TEXT are arguments that are settled already. That there are more than it tells is said on stderr. A VALUE with a = in it is written as ARGUMENT=VALUE.

  stdwire complete prompt completable-prompt name A department=Sales \
    -- npx -y @modelcontextprotocol/server-everything`,
		make: func() (grammar, runner) {
			c := &completion{target: newTarget()}
			flags := append([]flag{format(&c.output, "text", "json")}, c.target.flags()...)
			return grammar{flags: flags, word: c.word, command: c.target.command}, c.run
		},
	}
}

// A completion is what the command line says of one.
type completion struct {
	target  *target
	words   []string // prompt or resource, its name, the argument
	value   string
	valued  bool // there is a value
	settled textArguments
	output  string
}

func (c *completion) word(word string) error {
	switch given := len(c.words); {
	case given == 0 && word != "prompt" && word != "resource":
		return usagef("%q is neither prompt nor resource", word).withHint(near.DidYouMean(word, []string{"prompt", "resource"}))
	case given < 3 && word == "":
		return usagef("a name is empty")
	case given < 3:
		c.words = append(c.words, word)
		return nil
	}
	if value, ok := strings.CutPrefix(word, c.words[2]+"="); ok || !strings.Contains(word, "=") {
		if c.valued {
			return usagef("unexpected argument %q: there is a value already", word)
		}
		if !ok {
			value = word
		}
		c.value, c.valued = value, true
		return nil
	}
	return c.settled.add(word)
}

func (c *completion) run(ctx context.Context, std *streams) error {
	switch len(c.words) {
	case 0:
		return usagef("of what, a prompt or a resource?")
	case 1:
		return usagef("which one?").withHint("stdwire ls " + map[string]string{"prompt": "prompts", "resource": "templates"}[c.words[0]] + " lists them")
	case 2:
		return usagef("which argument?")
	}
	return c.target.use(ctx, std, func(cl *client.Client) error {
		ref, err := c.reference(ctx, cl)
		if err != nil {
			return err
		}
		return c.ask(ctx, std, cl, ref)
	})
}

// reference finds what an argument is to be completed of. Many servers answer what they do not know with nothing, so it is looked up first.
func (c *completion) reference(ctx context.Context, cl *client.Client) (ref mcp.CompleteReference, err error) {
	kind, name, argument := c.words[0], c.words[1], c.words[2]
	if kind == "resource" {
		return mcp.CompleteReference{Type: mcp.RefResource, URI: name}, findTemplate(ctx, cl, name)
	}
	definition, err := findPrompt(ctx, cl, name)
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
	f := badArgs("there is no argument %q", argument)
	f.what = name
	return ref, f.withHint(promptSignature(definition)).withHint(near.DidYouMean(argument, names))
}

// findTemplate looks a resource template up. The error names those that there are. What is no template but a URI may be completed too.
func findTemplate(ctx context.Context, c *client.Client, name string) error {
	if !strings.Contains(name, "{") {
		return nil
	}
	var names []string
	for template, err := range c.ResourceTemplates(ctx) {
		switch {
		case err != nil:
			return err
		case template.URITemplate == name:
			return nil
		}
		names = append(names, template.URITemplate)
	}
	return notFound("resource template", name, names, "stdwire ls templates")
}

// contextSince is the first revision in which a server is told the arguments that are settled.
const contextSince mcp.Revision = "2025-06-18"

func (c *completion) ask(ctx context.Context, std *streams, cl *client.Client, ref mcp.CompleteReference) error {
	params := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: c.words[2], Value: c.value}}
	switch {
	case c.settled == nil:
	case cl.Revision() < contextSince:
		std.err.printf("note: the server speaks %s, in which it cannot be told the other arguments", cl.Revision())
	default:
		params.Context = &mcp.CompleteContext{Arguments: c.settled}
	}
	raw, err := cl.Call(ctx, mcp.MethodComplete, params)
	if err != nil {
		if f := explain(err); f != nil {
			f.what = c.words[1]
			return f
		}
		return err
	}
	if c.output == "json" {
		std.out.json(raw)
	}
	var result mcp.CompleteResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		return (&view{std: std, output: c.output}).noResult(c.words[1], raw, err)
	}
	if c.output == "json" {
		return nil
	}
	values := result.Completion.Values
	for _, value := range values {
		std.out.lines(value)
	}
	switch total := result.Completion.Total; {
	case total != nil && *total > int64(len(values)):
		std.err.printf("note: these are %d of %d", len(values), *total)
	case result.Completion.HasMore:
		std.err.printf("note: there are more than these %d", len(values))
	case len(values) == 0:
		std.err.printf("note: the server suggests nothing")
	}
	return nil
}
