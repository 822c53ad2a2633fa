// Package card serves a server card, and the catalog that lists it, over HTTP.
package card

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Documents are a server card and the catalog that lists it.
type Documents struct{ card, catalog document }

// A document is a public file.
type document struct {
	contentType string
	content     []byte
	tag         string // an ETag
}

func newDocument(contentType string, v any) (document, error) {
	content, err := json.Marshal(v)
	sum := sha256.Sum256(content)
	return document{contentType, content, `"` + hex.EncodeToString(sum[:8]) + `"`}, err
}

// New returns the documents of a card, whose first remote is the endpoint. It fails for an invalid
// card.
func New(card mcp.ServerCard) (*Documents, error) {
	card.Schema = cmp.Or(card.Schema, mcp.ServerCardSchema)
	if err := card.Check(); err != nil {
		return nil, err
	}
	if len(card.Remotes) == 0 {
		return nil, errors.New("server card: it has no remote")
	}
	d := new(Documents)
	var err error
	if d.card, err = newDocument(mcp.ServerCardType, card); err != nil {
		return nil, err
	}
	entry := catalogEntry(card.Name, strings.TrimRight(card.Remotes[0].URL, "/")+mcp.ServerCardPath)
	d.catalog, err = newDocument(mcp.CatalogType,
		mcp.Catalog{SpecVersion: "1.0", Entries: []mcp.CatalogEntry{entry}})
	return d, err
}

// catalogEntry returns the entry of a card in a catalog. Clients read the card at cardURL. The
// publisher is the domain of the namespace in the name of the card.
func catalogEntry(card, cardURL string) mcp.CatalogEntry {
	namespace, name, _ := strings.Cut(card, "/")
	labels := strings.Split(namespace, ".")
	slices.Reverse(labels)
	return mcp.CatalogEntry{Identifier: "urn:air:" + strings.Join(labels, ".") + ":mcp:" + name,
		Type: mcp.ServerCardType, URL: cardURL}
}

// Serve answers a request for a document. It is false for any other request, and for a nil
// *Documents.
func (d *Documents) Serve(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case d == nil:
		return false
	case strings.HasSuffix(r.URL.Path, mcp.ServerCardPath):
		d.card.serve(w, r)
	case r.URL.Path == mcp.CatalogPath:
		d.catalog.serve(w, r)
	default:
		return false
	}
	return true
}

// serve answers GET and HEAD, and the preflight of a page of any origin: the document is public.
func (d document) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Content-Type, If-None-Match")
	h.Set("Access-Control-Expose-Headers", "ETag")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "a server card is only read", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", d.contentType)
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", d.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.content)) // honours If-None-Match
}
