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

// LoginPages opens the pages on which a user authorizes this program.
type LoginPages struct {
	Std    *term.Streams
	Browse func(url string) error

	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup // incremented only while not ended
}

// Show opens a page in the browser. Where the browser is on another machine, the user can enter the
// address that it was redirected to. Show ends with ctx.
func (p *LoginPages) Show(ctx context.Context, page string) error {
	u, err := parsePageURL(page)
	if err != nil {
		return fmt.Errorf("the login page is not opened: %w", err)
	}
	p.Std.Err.Printf("To log in, open this page of %s:\n\n  %s\n", Ascii(u.Host), Ascii(page))
	for _, warning := range urlWarnings(u) {
		p.Std.Err.Printf("Warning: %s.", warning)
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
		p.wg.Go(func() { p.readRedirect(ctx, u.Query().Get("redirect_uri")) })
	}
	return nil
}

// Done waits until the prompt for a redirect has ended. Call it after the login.
func (p *LoginPages) Done() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.wg.Wait()
}

// readRedirect reads the address to which a browser on another machine was redirected, and requests
// it on this one.
func (p *LoginPages) readRedirect(ctx context.Context, redirect string) {
	lines := p.Std.Prompter()
	for {
		line, err := lines.Line(ctx,
			"If the browser is on another machine and cannot open its last address, enter that address:")
		if err != nil {
			return
		}
		if err := requestRedirect(ctx, redirect, line); err != nil {
			p.Std.Err.Printf("The address is not accepted: %s.", printable.Line(err.Error()))
		}
	}
}

// requestRedirect requests an address of the redirect URI in place of the browser.
func requestRedirect(ctx context.Context, redirect, address string) error {
	to, err := url.Parse(redirect)
	if err != nil {
		return err
	}
	from, err := url.Parse(address)
	if err != nil || from.Scheme != to.Scheme || from.Host != to.Host || from.Path != to.Path {
		return fmt.Errorf("it does not begin with %s", redirect)
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
		return errors.New("it belongs to another login: use the page above")
	}
	return nil
}
