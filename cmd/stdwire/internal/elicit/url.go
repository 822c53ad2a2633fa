package elicit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// askToOpen asks whether a web page may be opened, and opens it (2026-07-28, Elicitation, "Safe URL
// Handling"). This program never fetches the page.
func (a *Asker) askToOpen(ctx context.Context, params mcp.ElicitParams) error {
	a.printRequest("wants you to visit a web page", params.Message)
	u, err := parsePageURL(params.URL)
	if err != nil {
		a.console.Printf("  %s", printable.TruncateRunes(Ascii(params.URL), printable.Width))
		a.console.Printf("The page is not opened: %v.", err)
		return errDeclined
	}
	a.console.Printf("  host  %s", Ascii(u.Host))
	a.console.Printf("  URL   %s", Ascii(params.URL))
	for _, warning := range urlWarnings(u) {
		a.console.Printf("Warning: %s.", warning)
	}
	answer, err := a.askChoice(ctx, "Open it in your browser? [y/N]", 'n', "yes", "no")
	if err != nil {
		return err
	}
	if answer == 'n' {
		return errDeclined
	}
	if err := a.browse(u.String()); err != nil {
		a.console.Printf("It could not be opened: %s. Please open it yourself: %s",
			printable.Line(err.Error()), u)
	}
	return nil
}

// parsePageURL parses the URL of a page. The error says why no browser may be started with it.
func parsePageURL(text string) (*url.URL, error) {
	const longest = 8 << 10 // a user cannot check more
	u, err := url.Parse(text)
	switch {
	case len(text) > longest:
		return nil, errors.New("its URL is too long")
	case err != nil || strings.ContainsAny(text, "\\ \"<>"):
		// browsers take a backslash for a slash, and would find another host than url.Parse
		return nil, errors.New("its URL is not valid")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("its URL is not an https or http URL")
	case u.Hostname() == "":
		return nil, errors.New("its URL has no host")
	}
	return u, nil
}

// urlWarnings returns warnings for a person who is about to open a URL.
func urlWarnings(u *url.URL) (list []string) {
	host := strings.ToLower(u.Hostname())
	if u.User != nil {
		list = append(list, "the text before the @ is not the host; the host is "+Ascii(u.Host))
	}
	if Ascii(host) != host || strings.Contains(host, "xn--") {
		list = append(list, "the host has letters that may look like others, and is shown encoded")
	}
	if u.Scheme == "http" && !hostname.IsLoopback(host) {
		list = append(list, "what you type there is not encrypted on its way (http)")
	}
	return list
}

// Ascii escapes everything but printable ASCII, because letters of other scripts can look the same.
func Ascii(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case ' ' <= r && r <= '~':
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
