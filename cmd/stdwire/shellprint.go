package main

import "context"

// view is where the shell prints what a server returned.
func (s *shell) view() *view { return &view{std: s.std, output: s.output, save: s.saver} }

// showKinds prints the lists of some kinds.
func (s *shell) showKinds(ctx context.Context, c *connection, of []kind) error {
	for _, k := range of {
		if err := k.list(ctx, c.Client, s.std, s.output); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) showResources(ctx context.Context, _ []string) error {
	return s.on(ctx, func(c *connection) error {
		if c.Capabilities().Resources == nil {
			return without("resources")
		}
		c.resources.forget()
		c.templates.forget()
		return s.showKinds(ctx, c, kinds()[1:3])
	})
}

func (s *shell) showPrompts(ctx context.Context, _ []string) error {
	return s.on(ctx, func(c *connection) error {
		if c.Capabilities().Prompts == nil {
			return without("prompts")
		}
		c.prompts.forget()
		return s.showKinds(ctx, c, kinds()[3:])
	})
}

// readResource prints what a resource has in it.
func (s *shell) readResource(ctx context.Context, words []string) error {
	return s.on(ctx, func(c *connection) error {
		defer s.trace.drain()
		r := &read{uris: words, timeout: s.timeout, output: s.output}
		return r.show(ctx, s.view(), c.Client, words[0])
	})
}

// getPrompt prints the messages of a prompt.
func (s *shell) getPrompt(ctx context.Context, words []string) error {
	p := &prompt{name: words[0], timeout: s.timeout, output: s.output}
	for _, word := range words[1:] {
		if err := p.word(word); err != nil {
			return err
		}
	}
	return s.on(ctx, func(c *connection) error {
		if c.Capabilities().Prompts == nil {
			return without("prompts")
		}
		definition, err := findPrompt(ctx, c.Client, p.name)
		if err == nil {
			err = p.check(definition)
		}
		if err != nil {
			return err
		}
		defer s.trace.drain()
		return p.get(ctx, s.view(), c.Client)
	})
}
