package pincheck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An appDefinition is the pinned definition of an app: for each page its digest and its _meta.ui.
// The names are those of the server.
type appDefinition struct {
	URI   string    `json:"uri"`
	Pages []appPage `json:"pages"`
}

type appPage struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	SHA256   string          `json:"sha256"`
	UI       json.RawMessage `json:"ui,omitzero"`
}

// App returns the definition of an app that has these contents.
func App(uri string, contents []mcp.ResourceContents) (json.RawMessage, error) {
	d := appDefinition{URI: uri, Pages: []appPage{}}
	for _, c := range contents {
		html := []byte(c.Text)
		if c.Blob != nil {
			html = c.Blob
		}
		sum := sha256.Sum256(html)
		d.Pages = append(d.Pages, appPage{c.URI, c.MIMEType, hex.EncodeToString(sum[:]),
			c.Meta[mcp.MetaUI]})
	}
	return mcp.Marshal(d)
}

// Apps returns the definitions of the apps of a server's tools. It omits apps that cannot
// be read.
func Apps(ctx context.Context, c *client.Client) (all []json.RawMessage, err error) {
	seen := map[string]bool{}
	for tool, err := range client.OmitInvalid(c.Tools(ctx)) {
		if err != nil {
			return nil, err
		}
		ui, err := appdef.ToolUI(tool.Meta)
		if err != nil || ui.ResourceURI == "" || seen[ui.ResourceURI] {
			continue
		}
		seen[ui.ResourceURI] = true
		result, err := c.ReadResource(ctx, ui.ResourceURI)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue
		}
		definition, err := App(ui.ResourceURI, result.Contents)
		if err != nil {
			return nil, err
		}
		all = append(all, definition)
	}
	return all, nil
}
