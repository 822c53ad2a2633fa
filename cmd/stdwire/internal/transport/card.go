package transport

import (
	"cmp"
	"path"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// cardFlags are the flags of the server card.
type cardFlags struct {
	name        string // "": there is no card
	url         string
	description string
}

func (c *cardFlags) flags() []command.Flag {
	return []command.Flag{
		command.TextFlag(&c.name, "--card", "NAME",
			"publish a server card without authorization, at /mcp/server-card and in /.well-known/ai-catalog.json; the name is NAMESPACE/NAME, such as com.example/files"),
		command.TextFlag(&c.url, "--card-url", "URL",
			"the public URL of /mcp for --card (default: that of --oauth-audience, or of this machine)"),
		command.TextFlag(&c.description, "--card-description", "TEXT",
			"up to 100 characters for --card"),
	}
}

// given returns the name of a given flag, or "".
func (c *cardFlags) given() string {
	return command.FirstGiven("--card", c.name, "--card-url", c.url,
		"--card-description", c.description)
}

func (c *cardFlags) check() error {
	if c.name == "" {
		if given := c.given(); given != "" {
			return command.Usagef("%s is for --card", given)
		}
		return nil
	}
	card, _ := c.card("http://localhost/mcp", "", true)
	if err := card.Check(); err != nil {
		return command.Usagef("--card: %v", err)
	}
	return nil
}

// card returns the card, or nil. local is the URL of the endpoint, and audience that of OAuth.
func (c *cardFlags) card(local, audience string, isLocal bool) (*mcp.ServerCard, error) {
	if c.name == "" {
		return nil, nil
	}
	url := c.url
	switch {
	case url != "":
	case audience != "":
		url = audience
	case isLocal && strings.HasPrefix(local, "http"):
		url = local
	default: // the address of this machine may be secret, or that of a socket
		return nil, command.Usagef("--card needs the public URL of the server").WithHint(
			"add --card-url URL")
	}
	description := cmp.Or(c.description, "Tools served by stdwire")
	remote := mcp.CardRemote{Type: "streamable-http", URL: url, Versions: mcp.Supported()}
	return &mcp.ServerCard{Schema: mcp.ServerCardSchema, Name: c.name, Version: command.Version(),
		Description: description, Remotes: []mcp.CardRemote{remote}}, nil
}

// serverName is the name that the server reports, which is that of its card.
func (c *cardFlags) serverName() string {
	if c.name == "" {
		return "stdwire"
	}
	return path.Base(c.name)
}
