package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxCard limits the size of a server card or a catalog in bytes.
const maxCard = 256 << 10

// ErrNoCard is the error of [Options.ServerCard] and [Options.Catalog] if the server has no card.
var ErrNoCard = errors.New("streamable: there is no server card")

// ServerCard reads the card of the server at a URL from the place that is reserved for it:
// URL/server-card (SEP-2127). It sends no credentials: of the options it uses TLS and HTTP. The
// card may be false; see [mcp.ServerCard]. An invalid card is returned with an error.
func (o Options) ServerCard(ctx context.Context, endpoint string) (*mcp.ServerCard, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("streamable: the URL is invalid")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+mcp.ServerCardPath, ""
	card := new(mcp.ServerCard)
	if err := o.readPublic(ctx, u, mcp.ServerCardType, card); err != nil {
		return nil, err
	}
	return card, card.Check()
}

// Catalog reads the list of server cards of the host of a URL, as ServerCard does.
func (o Options) Catalog(ctx context.Context, endpoint string) (*mcp.Catalog, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("streamable: the URL is invalid")
	}
	u.Path, u.RawPath = mcp.CatalogPath, ""
	catalog := new(mcp.Catalog)
	return catalog, o.readPublic(ctx, u, mcp.CatalogType, catalog)
}

// readPublic reads a JSON document without credentials.
func (o Options) readPublic(ctx context.Context, u *url.URL, accept string, v any) error {
	u = httpurl.Public(u)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("streamable: the URL is invalid")
	}
	req.Header.Set("Accept", accept)
	web := Options{TLS: o.TLS, HTTP: o.HTTP}.newConn(u.String()).newHTTPClient()
	web.Jar = nil
	defer web.CloseIdleConnections()
	resp, err := web.Do(req)
	if err != nil {
		return fmt.Errorf("streamable: %s: %w", u.Path, err)
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || media != accept && media != "application/json" {
		return ErrNoCard // many servers answer any path
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	switch {
	case err != nil:
		return fmt.Errorf("streamable: %s: %w", u.Path, err)
	case len(body) > maxCard:
		return fmt.Errorf("streamable: %s has more than %d bytes", u.Path, maxCard)
	}
	if err := json.Unmarshal(jsonscan.TrimBOM(body), v); err != nil {
		return fmt.Errorf("streamable: %s: %w", u.Path, err)
	}
	return nil
}
