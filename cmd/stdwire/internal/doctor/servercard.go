package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A cardReader reads the server card of a server at a URL.
type cardReader struct {
	options  streamable.Options // without credentials
	endpoint string
}

// cardTimeout is how long to wait for a card.
const cardTimeout = 10 * time.Second

// compareCard adds findings about differences between the server card, if there is one, and the
// server.
func (r *Report) compareCard(ctx context.Context, from *cardReader, c *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	card, err := from.options.ServerCard(ctx, from.endpoint)
	switch {
	case errors.Is(err, streamable.ErrNoCard):
		return
	case err != nil:
		r.add(Warning, "its server card cannot be used: "+err.Error(), "")
		return
	}
	const way = "clients read the card before they connect; correct it or the server"
	differs := func(what, said, is string) {
		r.add(Warning, fmt.Sprintf("its server card says the %s %.100q, and the server says %.100q", what,
			said, is), way)
	}
	info := c.ServerInfo()
	// The name of a card has a namespace before it.
	if info.Name != "" && info.Name != card.Name && info.Name != path.Base(card.Name) {
		differs("name", card.Name, info.Name)
	}
	if info.Version != "" && info.Version != card.Version {
		differs("version", card.Version, info.Version)
	}
	if info.Title != "" && card.Title != "" && info.Title != card.Title {
		differs("title", card.Title, info.Title)
	}
	r.compareRemotes(card, from.endpoint, c)
	r.compareCatalog(ctx, from, card)
}

// compareRemotes looks for the endpoint in the card, and compares its protocol versions.
func (r *Report) compareRemotes(card *mcp.ServerCard, endpoint string, c *client.Client) {
	i := slices.IndexFunc(card.Remotes, func(remote mcp.CardRemote) bool {
		return strings.Contains(remote.URL, "{") || sameEndpoint(remote.URL, endpoint)
	})
	if i < 0 {
		var all []string
		for _, remote := range card.Remotes {
			all = append(all, remote.URL)
		}
		has := "it lists no URL"
		if all != nil {
			has = "it lists " + strings.Join(all[:min(len(all), 5)], ", ")
		}
		r.add(Warning, "its server card does not have this URL: "+has, "")
		return
	}
	claimed := card.Remotes[i].Versions
	if claimed == nil {
		return
	}
	if !slices.Contains(claimed, c.Revision()) {
		r.add(Warning, fmt.Sprintf("its server card does not have the protocol version %s, which it speaks",
			c.Revision()), "")
	}
	if c.Era() != mcp.Modern {
		return // the handshake names one version only
	}
	var found mcp.DiscoverResult
	if json.Unmarshal(c.Handshake().Result, &found) != nil {
		return
	}
	for _, v := range claimed {
		// server/discover need not name versions of the legacy era.
		if mcp.EraOf(v) != mcp.Legacy && !slices.Contains(found.SupportedVersions, string(v)) {
			r.add(Warning, fmt.Sprintf(
				"its server card has the protocol version %.20q, which it does not support", v), "")
		}
	}
}

// sameEndpoint reports whether two URLs are equal except for a slash at the end.
func sameEndpoint(a, b string) bool {
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && httpurl.SameOrigin(u, v) &&
		strings.TrimRight(u.Path, "/") == strings.TrimRight(v.Path, "/")
}

// compareCatalog looks for the card in the catalog of the host, if there is one.
func (r *Report) compareCatalog(ctx context.Context, from *cardReader, card *mcp.ServerCard) {
	catalog, err := from.options.Catalog(ctx, from.endpoint)
	switch {
	case errors.Is(err, streamable.ErrNoCard):
		return
	case err != nil:
		r.add(Warning, "the catalog of its host cannot be used: "+err.Error(), "")
		return
	}
	at := strings.TrimRight(from.endpoint, "/") + mcp.ServerCardPath
	if !slices.ContainsFunc(catalog.Entries, func(e mcp.CatalogEntry) bool {
		return e.Type == mcp.ServerCardType && (sameEndpoint(e.URL, at) ||
			e.Data != nil && e.Data.Name == card.Name)
	}) {
		r.add(note, "the catalog of its host, "+mcp.CatalogPath+", does not list its server card", "")
	}
}
