package tokenfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/near"
)

// lockTimeout is how long a change waits for another process that changes the same file.
const lockTimeout = 10 * time.Second

// Add adds a token to a file, which it creates if needed. The name must be new.
func Add(ctx context.Context, path string, t Token) error {
	if err := t.Check(); err != nil {
		return err
	}
	return change(ctx, path, func(c *Content) error {
		switch {
		case slices.ContainsFunc(c.Tokens,
			func(other Token) bool { return other.Name == t.Name }):
			return fmt.Errorf("%s has a token %q already: revoke it first, or choose another name",
				path, t.Name)
		case len(c.Tokens) >= maxTokens:
			return fmt.Errorf("%s has %d tokens, which is the limit: revoke some", path,
				len(c.Tokens))
		}
		c.Tokens = append(c.Tokens, t)
		return nil
	})
}

// Revoke removes a token from a file.
func Revoke(ctx context.Context, path, name string) error {
	return change(ctx, path, func(c *Content) error {
		var names []string
		for i, t := range c.Tokens {
			if t.Name == name {
				c.Tokens = slices.Delete(c.Tokens, i, i+1)
				return nil
			}
			names = append(names, t.Name)
		}
		err := fmt.Errorf("%s has no token %.100q", path, name)
		if hint := near.DidYouMean(name, names); hint != "" {
			err = fmt.Errorf("%w: %s", err, hint)
		}
		return err
	})
}

// change edits the content of a file. Other processes wait.
func change(ctx context.Context, path string, edit func(*Content) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout,
		fmt.Errorf("another process changes %s: it has locked %[1]s.lock", path))
	defer cancel()
	unlock, err := atomicfile.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err = edit(&all); err != nil {
		return err
	}
	content, err := encode(all)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, content, 0o600)
}
