package elicit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// page asks whether a web page may be opened, and opens it (2026-07-28, Elicitation, "Safe URL Handling"). Nobody but the browser ever looks at the page.
func (a *asker) page(ctx context.Context, params mcp.ElicitParams) error {
	a.introduce("wants you to visit a web page", params.Message)
	u, err := webPage(params.URL)
	if err != nil {
		a.console.Printf("  %s", printable.TruncateRunes(Ascii(params.URL), term.Width))
		a.console.Printf("That is not opened: %v.", err)
		return errDeclined
	}
	a.console.Printf("  host  %s", Ascii(u.Host))
	a.console.Printf("  URL   %s", Ascii(params.URL))
	for _, doubt := range doubts(u) {
		a.console.Printf("Mind: %s.", doubt)
	}
	answer, err := a.choose(ctx, "Open it in your browser? [y/N]", 'n', "yes", "no")
	if err != nil {
		return err
	}
	if answer == 'n' {
		return errDeclined
	}
	if err := a.browse(u.String()); err != nil {
		a.console.Printf("It could not be opened: %s. Please open it yourself: %s", printable.Line(err.Error()), u)
	}
	return nil
}

// webPage reads a URL that a browser may be started with. The error tells why it must not be.
func webPage(text string) (*url.URL, error) {
	const longest = 8 << 10 // nobody looks through more
	u, err := url.Parse(text)
	switch {
	case len(text) > longest:
		return nil, errors.New("it is too long")
	case err != nil || strings.ContainsAny(text, "\\ \"<>"): // browsers see another host than others behind a backslash
		return nil, errors.New("it is no valid URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("only https and http are")
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	}
	return u, nil
}

// doubts are what a person should know of a URL before opening it.
func doubts(u *url.URL) (list []string) {
	host := strings.ToLower(u.Hostname())
	if u.User != nil {
		list = append(list, "what stands before the @ is not the host; the host is "+Ascii(u.Host))
	}
	if Ascii(host) != host || strings.Contains(host, "xn--") {
		list = append(list, "the host has letters that may look like others, and is shown encoded")
	}
	if u.Scheme == "http" && !oauth.IsLoopback(host) {
		list = append(list, "what you type there is not encrypted on its way (http)")
	}
	return list
}

// Ascii shows text with everything but printable ASCII escaped: letters of other scripts can look the same.
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
