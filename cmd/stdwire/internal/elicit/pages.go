package elicit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

// Pages shows the pages where a user agrees, in the browser.
type Pages struct {
	Std    *term.Streams
	Browse func(url string) error

	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup // counts up only while not ended
}

// Show has the browser show a page. Whoever sits at the terminal can give the address that the browser ended at, where that is on another machine. It ends with ctx.
func (p *Pages) Show(ctx context.Context, page string) error {
	u, err := webPage(page)
	if err != nil {
		return fmt.Errorf("its page is not opened: %w", err)
	}
	p.Std.Err.Printf("To log in, open this page of %s:\n\n  %s\n", Ascii(u.Host), Ascii(page))
	for _, doubt := range doubts(u) {
		p.Std.Err.Printf("Mind: %s.", doubt)
	}
	if !p.Std.CanAsk() {
		return nil
	}
	if err := p.Browse(page); err != nil {
		p.Std.Err.Printf("The browser could not be started: %s.", printable.Line(err.Error()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.wg.Go(func() { p.wait(ctx, u.Query().Get("redirect_uri")) })
	}
	return nil
}

// Done waits until nobody waits for a line any more, which ends with the login.
func (p *Pages) Done() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.wg.Wait()
}

// wait takes the address that a browser elsewhere ended at to where it should have been.
func (p *Pages) wait(ctx context.Context, redirect string) {
	lines := p.Std.Prompter()
	for {
		line, err := lines.Line(ctx, "If the browser is on another machine, and ends at an address that does not answer, that address:")
		if err != nil {
			return
		}
		if err := forward(ctx, redirect, line); err != nil {
			p.Std.Err.Printf("That does not help: %s.", printable.Line(err.Error()))
		}
	}
}

// forward asks for an address of the redirection in the browser's place.
func forward(ctx context.Context, redirect, address string) error {
	to, err := url.Parse(redirect)
	if err != nil {
		return err
	}
	from, err := url.Parse(address)
	if err != nil || from.Scheme != to.Scheme || from.Host != to.Host || from.Path != to.Path {
		return fmt.Errorf("the address begins with %s", redirect)
	}
	to.RawQuery = from.RawQuery
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("this is not the answer that is waited for: log in with the page above")
	}
	return nil
}
