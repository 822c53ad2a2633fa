package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// PromptCommand is stdwire prompt.
func PromptCommand() command.Command {
	return command.Command{
		Name: "prompt", Usage: "NAME [ARGUMENT=TEXT | ARGUMENT=@FILE]… [-o text|json|raw] [--save DIR] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "get a prompt of a server, with its arguments filled in",
		Help: `text prints each message below its role; json prints the result as the server wrote it; raw
prints the content of the messages alone. Arguments are strings. With a missing or unknown argument
nothing is sent.

  stdwire prompt args-prompt city=Oslo \
    -- npx -y @modelcontextprotocol/server-everything
  stdwire prompt review code=@main.go -o raw -- review-server`,
		Make: func() (command.Grammar, command.Runner) {
			p := &Prompt{target: target.NewTarget().OrServers()}
			g := p.target.Grammar(p.Word, command.FormatFlag(&p.Output, "text", "json", "raw"),
				output.SaveFlag(&p.save), TimeoutFlag(&p.Timeout))
			g.Address = p.address
			return g, p.run
		},
	}
}

// address takes the address of the server before the prompt. What follows the prompt is its
// arguments.
func (p *Prompt) address(word string) (bool, error) {
	if p.Name != "" {
		return false, nil
	}
	return p.target.TakeAddress(word)
}

// A Prompt holds the options of stdwire prompt.
type Prompt struct {
	target    *target.Target
	Name      string
	arguments textArguments
	Timeout   time.Duration
	Output    string
	save      string // directory; "": nothing is saved
}

// textArguments are arguments whose values are text.
type textArguments map[string]string

// add parses an argument and reads the file that it names.
func (t *textArguments) add(word string) error {
	a, err := arguments.ParseAssignment(word)
	switch {
	case err != nil:
		return err
	case a.JSON != nil:
		return command.Usagef("argument %q: the arguments here are text, not JSON",
			a.Name).WithHint(fmt.Sprintf("write %s=…", a.Name))
	}
	if _, twice := (*t)[a.Name]; twice {
		return command.Usagef("argument %q is given twice", a.Name)
	}
	if *t == nil {
		*t = textArguments{}
	}
	(*t)[a.Name] = a.Text
	return nil
}

// Word parses the name of the prompt or an argument.
func (p *Prompt) Word(word string) error {
	switch {
	case p.Name != "":
		return p.arguments.add(word)
	case word == "":
		return command.Usagef("the prompt's name is empty")
	}
	p.Name = word
	return nil
}

func (p *Prompt) run(ctx context.Context, std *term.Streams) error {
	if p.Name == "" {
		return command.Usagef("which prompt?").WithHint("stdwire ls prompts lists them")
	}
	saver, err := output.OpenSaver(p.save)
	if err != nil {
		return err
	}
	defer saver.Close()
	return p.target.Use(ctx, std, func(c *client.Client) error {
		definition, err := FindPrompt(ctx, c, p.Name)
		if err == nil {
			err = p.Check(definition)
		}
		if err != nil {
			return err
		}
		return p.Get(ctx, &output.Printer{Std: std, Format: p.Output, Save: saver}, c)
	})
}

// Check returns a failure if the arguments do not match those of the prompt.
func (p *Prompt) Check(definition *mcp.Prompt) error {
	var names, missing []string
	for _, a := range definition.Arguments {
		names = append(names, a.Name)
		if _, given := p.arguments[a.Name]; a.Required && !given {
			missing = append(missing, a.Name)
		}
	}
	f := command.BadArgs("missing arguments: %s", strings.Join(missing, ", "))
	f.What = p.Name
	if missing == nil {
		for _, name := range slices.Sorted(maps.Keys(p.arguments)) {
			if !slices.Contains(names, name) {
				f.Why = fmt.Sprintf("there is no argument %q", name)
				return f.WithHint(output.PromptSignature(definition)).WithHint(
					near.DidYouMean(name, names))
			}
		}
		return nil
	}
	return f.WithHint(output.PromptSignature(definition))
}

// Get gets the prompt and prints it.
func (p *Prompt) Get(ctx context.Context, v *output.Printer, c *client.Client) error {
	follow := progressView{std: v.Std, what: p.Name}
	raw, err := follow.send(ctx, func(progress ...client.CallOption) (json.RawMessage, error) {
		return c.Call(ctx, mcp.MethodGetPrompt,
			&mcp.GetPromptParams{Name: p.Name, Arguments: p.arguments},
			append(progress, client.Timeout(p.Timeout))...)
	})
	if err != nil {
		if f := target.Explain(err); f != nil {
			f.What = p.Name
			return f
		}
		return err
	}
	if v.Format == "json" {
		v.Std.Out.PrintJSON(raw)
	}
	var result mcp.GetPromptResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		return v.InvalidResult(p.Name, raw, err)
	}
	for i, message := range result.Messages {
		if v.Format == "text" {
			if i > 0 {
				v.Std.Out.Print("\n")
			}
			v.Std.Out.Print(printable.Line(string(message.Role)) + ":\n")
		}
		v.Block(message.Content, fmt.Sprintf("%s-%d", p.Name, i+1))
	}
	return v.Err
}

// FindPrompt returns the definition of a prompt. The error lists the prompts of the server.
func FindPrompt(ctx context.Context, c *client.Client, name string) (*mcp.Prompt, error) {
	prompt, err := target.Find(c.Prompts(ctx), mcp.KindPrompt, name,
		func(p *mcp.Prompt) string { return p.Name })
	return prompt, target.ExplainUnlisted(ctx, c, name, err)
}
