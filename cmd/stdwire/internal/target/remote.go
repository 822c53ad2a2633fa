package target

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/httptoken"
	"github.com/stdwire/stdwire/internal/userfile"
)

// A Remote is a server at a URL, given by flags.
type Remote struct {
	URL    string // "" if not given
	Header http.Header
	// TokenFile is a file with the bearer token for URL; "" if not given.
	TokenFile string

	tokenFrom string // set by Check: the file whose token is in Header
	files     tlsFiles
	tls       *tls.Config // set by Check
	ca        []byte      // set by Check: the content of files.CA
}

func (r *Remote) Flags() []command.Flag {
	return append([]command.Flag{
		{Name: "--url", Value: "URL", Help: "the server at a URL, over HTTP, in place of a command",
			Set: r.SetURL},
		{Name: "--header", Value: "NAME:VALUE", Many: true,
			Help: "a header for --url; with NAME:@FILE the value is the content of a file",
			Set:  r.setHeader},
		command.FileFlag(&r.TokenFile, TokenFileFlag,
			"a file with the bearer token for --url, which others cannot read"),
	}, r.files.flags()...)
}

// TokenFileFlag is the name of the flag for a file with a token.
const TokenFileFlag = "--token-file"

// Check returns an error if a flag is given without --url, or names an unusable file. It must be
// called before Dial.
func (r *Remote) Check() (err error) {
	if r.URL == "" {
		return r.checkUnused()
	}
	if r.TokenFile != "" {
		if r.Header.Get("Authorization") != "" {
			return command.Usagef("%s and --header Authorization exclude each other", TokenFileFlag)
		}
		token, err := ReadToken(r.TokenFile)
		if err != nil {
			return command.Usagef("%s: %v", TokenFileFlag, err)
		}
		r.addHeader("Authorization", "Bearer "+token)
		r.TokenFile, r.tokenFrom = "", r.TokenFile
	}
	r.tls, r.ca, err = r.files.config()
	return err
}

// checkUnused returns an error if a flag is given that is for a server at a URL.
func (r *Remote) checkUnused() error {
	given := r.files.given()
	if r.TokenFile != "" {
		given = TokenFileFlag
	}
	if r.Header != nil {
		given = "--header"
	}
	if given != "" {
		return command.Usagef("%s is for a server at a --url", given)
	}
	return nil
}

// IsURL reports whether an argument is the URL of a server, and no name.
func IsURL(word string) bool {
	scheme, _, ok := strings.Cut(word, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// CheckURL returns an error for an argument for which IsURL is true and which is no valid URL.
func CheckURL(word string) error {
	if u, err := url.Parse(word); err != nil || u.Host == "" { // it may contain a secret
		return command.Usagef("the URL has no host").WithHint(urlHint)
	}
	return nil
}

const urlHint = "it looks like this: https://example.com/mcp"

func (r *Remote) SetURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// the value may contain a secret
		return command.Usagef("--url: the value is not an http or https URL").WithHint(urlHint)
	}
	if r.URL != "" {
		return command.Usagef("two URLs are given")
	}
	r.URL = value
	return nil
}

func (r *Remote) setHeader(text string) error {
	name, value, err := CutHeader(text)
	if err != nil {
		return command.Usagef("--header: %v", err).WithHint(
			"it looks like this: --header 'Authorization: Bearer …', or --header Authorization:@token.txt")
	}
	if value, err = FlagValue(value); err == nil {
		err = CheckHeaderValue(value)
	}
	if err != nil {
		return err
	}
	r.addHeader(name, value)
	return nil
}

// CutHeader returns the name and the value of a header, of the form NAME:VALUE.
func CutHeader(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, ":")
	if name = strings.TrimSpace(name); !ok || !httptoken.Is(name) {
		return "", "", errors.New("the value is not NAME:VALUE")
	}
	return name, strings.TrimSpace(value), nil
}

// CheckHeaderValue returns an error for a value that no header can have.
func CheckHeaderValue(value string) error {
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return errors.New("the value has control characters in it")
	}
	return nil
}

func (r *Remote) addHeader(name, value string) {
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	r.Header.Add(name, value)
}

// FlagValue returns value, or the trimmed content of the file if it is @FILE.
func FlagValue(value string) (string, error) {
	file, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	content, err := userfile.Text(userfile.ReadArgument(file, form.MaxFile))
	return strings.TrimSpace(string(content)), err
}

// Host returns the name of the server in messages.
func (r *Remote) Host() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "server"
	}
	return u.Host
}

// Public returns the options of requests without credentials.
func (r *Remote) Public() streamable.Options { return streamable.Options{TLS: r.tls} }

// Endpoint returns the endpoint that the flags describe, with the values of its headers left out.
func (r *Remote) Endpoint() *config.Endpoint {
	e := &config.Endpoint{URL: r.URL, TLS: r.files.TLS, Headers: map[string]string{}}
	for name := range r.Header {
		e.Headers[name] = ""
	}
	return e
}

// Dial returns the transport to the server.
func (r *Remote) Dial() client.Transport { return r.dial(nil) }

// dial is Dial with the observe of [Target].
func (r *Remote) dial(observe func(http.RoundTripper) http.RoundTripper) client.Transport {
	e := &config.Endpoint{URL: r.URL, TLS: r.files.TLS}
	return dialAuthorized(e, r.Header, r.tls, r.ca, observe)
}
