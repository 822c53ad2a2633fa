package shell

import (
	"context"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// printer returns the Printer for results of the server.
func (s *Shell) printer() *output.Printer {
	return &output.Printer{Std: s.Std, Format: s.output, Save: s.saver}
}

// showLists prints those of the lists that are of these kinds.
func (s *Shell) showLists(ctx context.Context, c *connection, lists []output.List,
	kinds ...mcp.Kind) error {
	for _, l := range lists {
		if !slices.Contains(kinds, l.Kind) {
			continue
		}
		if err := l.Print(ctx, c.Client, s.Std, s.output); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shell) showResources(ctx context.Context, _ []string) error {
	return s.withServer(ctx, func(c *connection) error {
		if c.Capabilities().Resources == nil {
			return target.Unsupported("resources")
		}
		c.resources.invalidate()
		c.templates.invalidate()
		return s.showLists(ctx, c, output.Lists(), mcp.KindResource, mcp.KindResourceTemplate)
	})
}

func (s *Shell) showPrompts(ctx context.Context, _ []string) error {
	return s.withServer(ctx, func(c *connection) error {
		if c.Capabilities().Prompts == nil {
			return target.Unsupported("prompts")
		}
		c.prompts.invalidate()
		return s.showLists(ctx, c, output.Lists(), mcp.KindPrompt)
	})
}

func (s *Shell) showSkills(ctx context.Context, _ []string) error {
	return s.withServer(ctx, func(c *connection) error {
		if _, declared := c.Extension(mcp.ExtensionSkills); !declared {
			return target.Unsupported("skills")
		}
		return s.showLists(ctx, c, output.Lists(), mcp.KindSkill)
	})
}

// getSkill prints a file of a skill.
func (s *Shell) getSkill(ctx context.Context, words []string) error {
	k := &calls.Skill{Timeout: s.timeout, Output: s.output}
	for _, word := range words {
		if err := k.Word(word); err != nil {
			return err
		}
	}
	return s.withServer(ctx, func(c *connection) error {
		if _, declared := c.Extension(mcp.ExtensionSkills); !declared {
			return target.Unsupported("skills")
		}
		defer s.trace.Drain()
		return k.Show(ctx, s.printer(), c.Client)
	})
}

// readResource prints the contents of a resource.
func (s *Shell) readResource(ctx context.Context, words []string) error {
	return s.withServer(ctx, func(c *connection) error {
		defer s.trace.Drain()
		r := &calls.Read{URIs: words, Timeout: s.timeout, Output: s.output}
		return r.Show(ctx, s.printer(), c.Client, words[0])
	})
}

// getPrompt prints the messages of a prompt.
func (s *Shell) getPrompt(ctx context.Context, words []string) error {
	p := &calls.Prompt{Name: words[0], Timeout: s.timeout, Output: s.output}
	for _, word := range words[1:] {
		if err := p.Word(word); err != nil {
			return err
		}
	}
	return s.withServer(ctx, func(c *connection) error {
		if c.Capabilities().Prompts == nil {
			return target.Unsupported("prompts")
		}
		definition, err := calls.FindPrompt(ctx, c.Client, p.Name)
		if err == nil {
			err = p.Check(definition)
		}
		if err != nil {
			return err
		}
		defer s.trace.Drain()
		return p.Get(ctx, s.printer(), c.Client)
	})
}
