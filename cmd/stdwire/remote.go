package main

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
)

// A remote is a server at a URL.
type remote struct {
	url    string // "" if there is none
	header http.Header
}

func (r *remote) flags() []flag {
	return []flag{
		{name: "--url", value: "URL", help: "the server at a URL, over HTTP, in place of a command", set: r.setURL},
		{name: "--header", value: "NAME:VALUE", many: true, help: "a header for --url; with NAME:@FILE the value is the content of a file", set: r.setHeader},
	}
}

func (r *remote) setURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usagef("--url: that is no URL").withHint("it looks like this: https://example.com/mcp") // what was given may have a secret in it
	}
	r.url = value
	return nil
}

func (r *remote) setHeader(value string) error {
	name, value, ok := strings.Cut(value, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !isToken(name) {
		return usagef("--header: that is none").withHint("it looks like this: --header 'Authorization: Bearer …', or --header Authorization:@token.txt")
	}
	if file, ok := strings.CutPrefix(value, "@"); ok {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		value = strings.TrimSpace(string(content))
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return errors.New("the value has control characters in it")
	}
	if r.header == nil {
		r.header = make(http.Header)
	}
	r.header.Add(name, value)
	return nil
}

// isToken reports a name that a header may have (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// host is what messages call the server.
func (r *remote) host() string {
	u, err := url.Parse(r.url)
	if err != nil {
		return "server"
	}
	return u.Host
}

func (r *remote) dial() client.Transport { return dialAuthorized(r.url, r.header, nil) }
