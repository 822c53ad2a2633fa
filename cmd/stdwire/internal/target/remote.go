package target

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// A Remote is a server at a URL, given by flags.
type Remote struct {
	URL    string // "" if not given
	Header http.Header
}

func (r *Remote) Flags() []command.Flag {
	return []command.Flag{
		{Name: "--url", Value: "URL", Help: "the server at a URL, over HTTP, in place of a command",
			Set: r.SetURL},
		{Name: "--header", Value: "NAME:VALUE", Many: true,
			Help: "a header for --url; with NAME:@FILE the value is the content of a file",
			Set:  r.setHeader},
	}
}

func (r *Remote) SetURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// the value may contain a secret
		return command.Usagef("--url: the value is not an http or https URL").WithHint(
			"it looks like this: https://example.com/mcp")
	}
	r.URL = value
	return nil
}

func (r *Remote) setHeader(value string) error {
	name, value, ok := strings.Cut(value, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !isToken(name) {
		return command.Usagef("--header: the value is not NAME:VALUE").WithHint(
			"it looks like this: --header 'Authorization: Bearer …', or --header Authorization:@token.txt")
	}
	value, err := flagValue(value)
	if err != nil {
		return err
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return errors.New("the value has control characters in it")
	}
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	r.Header.Add(name, value)
	return nil
}

// flagValue returns value, or the trimmed content of the file if it is @FILE.
func flagValue(value string) (string, error) {
	file, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	content, err := os.ReadFile(file)
	return strings.TrimSpace(string(content)), err
}

// isToken reports whether name is a valid header name (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// Host returns the name of the server in messages.
func (r *Remote) Host() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "server"
	}
	return u.Host
}

func (r *Remote) Dial() client.Transport { return dialAuthorized(r.URL, r.Header, nil) }
