package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func promptCommand() command {
	return command{
		name: "prompt", usage: "NAME [ARGUMENT=TEXT | ARGUMENT=@FILE]… [-o text|json|raw] [--save DIR] [FLAG]… [-- SERVER-COMMAND…]",
		summary: "get a prompt of a server, with its arguments filled in",
		help: `As text, each message is shown below who says it; json is the result as the server wrote it; raw is the content of the messages and nothing else. Arguments are always text. Those that are missing or unknown are named before anything is sent.

  stdwire prompt args-prompt city=Oslo \
    -- npx -y @modelcontextprotocol/server-everything
  stdwire prompt review code=@main.go -o raw -- review-server`,
		make: func() (grammar, runner) {
			p := &prompt{target: newTarget()}
			flags := append([]flag{
				format(&p.output, "text", "json", "raw"),
				saveFlag(&p.save),
				timeoutFlag(&p.timeout),
			}, p.target.flags()...)
			return grammar{flags: flags, word: p.word, command: p.target.command}, p.run
		},
	}
}

// A prompt is what the command line says of one.
type prompt struct {
	target    *target
	name      string
	arguments textArguments
	timeout   time.Duration
	output    string
	save      string // directory; "": nothing is saved
}

// textArguments are arguments that are always text.
type textArguments map[string]string

// add reads an argument, and the file that it names.
func (t *textArguments) add(word string) error {
	a, err := parseAssignment(word)
	switch {
	case err != nil:
		return err
	case a.json != nil:
		return usagef("argument %q: the arguments here are text, not JSON", a.name).withHint(fmt.Sprintf("write %s=…", a.name))
	}
	if _, twice := (*t)[a.name]; twice {
		return usagef("argument %q is given twice", a.name)
	}
	if *t == nil {
		*t = textArguments{}
	}
	(*t)[a.name] = a.text
	return nil
}

func (p *prompt) word(word string) error {
	switch {
	case p.name != "":
		return p.arguments.add(word)
	case word == "":
		return usagef("the prompt's name is empty")
	}
	p.name = word
	return nil
}

func (p *prompt) run(ctx context.Context, std *streams) error {
	if p.name == "" {
		return usagef("which prompt?").withHint("stdwire ls prompts lists them")
	}
	saver, err := openSaver(p.save)
	if err != nil {
		return err
	}
	defer saver.close()
	return p.target.use(ctx, std, func(c *client.Client) error {
		definition, err := findPrompt(ctx, c, p.name)
		if err == nil {
			err = p.check(definition)
		}
		if err != nil {
			return err
		}
		return p.get(ctx, &view{std: std, output: p.output, save: saver}, c)
	})
}

// check compares the arguments with those that the prompt has.
func (p *prompt) check(definition *mcp.Prompt) error {
	var names, missing []string
	for _, a := range definition.Arguments {
		names = append(names, a.Name)
		if _, given := p.arguments[a.Name]; a.Required && !given {
			missing = append(missing, a.Name)
		}
	}
	f := badArgs("missing arguments: %s", strings.Join(missing, ", "))
	f.what = p.name
	if missing == nil {
		for _, name := range slices.Sorted(maps.Keys(p.arguments)) {
			if !slices.Contains(names, name) {
				f.why = fmt.Sprintf("there is no argument %q", name)
				return f.withHint(promptSignature(definition)).withHint(near.DidYouMean(name, names))
			}
		}
		return nil
	}
	return f.withHint(promptSignature(definition))
}

// get gets the prompt, and prints it.
func (p *prompt) get(ctx context.Context, v *view, c *client.Client) error {
	follow := following{std: v.std, what: p.name}
	raw, err := follow.through(ctx, func(progress ...client.CallOption) (json.RawMessage, error) {
		return c.Call(ctx, mcp.MethodGetPrompt, &mcp.GetPromptParams{Name: p.name, Arguments: p.arguments}, append(progress, client.Timeout(p.timeout))...)
	})
	if err != nil {
		if f := explain(err); f != nil {
			f.what = p.name
			return f
		}
		return err
	}
	if v.output == "json" {
		v.std.out.json(raw)
	}
	var result mcp.GetPromptResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		return v.noResult(p.name, raw, err)
	}
	for i, message := range result.Messages {
		if v.output == "text" {
			if i > 0 {
				v.std.out.print("\n")
			}
			v.std.out.print(printable.Line(string(message.Role)) + ":\n")
		}
		v.block(message.Content, fmt.Sprintf("%s-%d", p.name, i+1))
	}
	return v.err
}

// findPrompt returns the definition of a prompt. The error names the prompts that there are.
func findPrompt(ctx context.Context, c *client.Client, name string) (*mcp.Prompt, error) {
	var names []string
	for prompt, err := range c.Prompts(ctx) {
		switch {
		case err != nil:
			return nil, err
		case prompt.Name == name:
			return prompt, nil
		}
		names = append(names, prompt.Name)
	}
	return nil, notFound("prompt", name, names, "stdwire ls prompts")
}
