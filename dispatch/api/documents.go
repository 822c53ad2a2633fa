package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// documentTable has the functions that generate the documents, by their names below the root.
var documentTable = map[string]func(*handler, []*dispatch.Operation) []byte{
	"manifest": func(h *handler,
		_ []*dispatch.Operation) []byte {
		return h.catalog.Manifest()
	},
	"openapi.json": (*handler).openAPI,
}

// documents caches the generated documents until the catalog changes.
type documents struct {
	mu         sync.Mutex
	operations []*dispatch.Operation // from which the documents were generated
	made       map[string]document
}

type document struct {
	text []byte
	tag  string // for the header ETag
}

// generated returns the current document with that name, and generates it if needed.
func (h *handler) generated(name string) document {
	if h.o.Visible != nil {
		return newDocument(documentTable[name](h, h.catalog.Operations()))
	}
	d := &h.documents
	d.mu.Lock()
	defer d.mu.Unlock()
	if operations := h.catalog.Operations(); !same(d.operations, operations) {
		d.operations, d.made = operations, map[string]document{}
	}
	if made, ok := d.made[name]; ok {
		return made
	}
	made := newDocument(documentTable[name](h, d.operations))
	d.made[name] = made
	return made
}

func newDocument(text []byte) document {
	return document{text, fmt.Sprintf(`"%x"`, sha256.Sum256(text))}
}

// same reports whether two slices of operations come from the same state of the catalog, which then
// returns the same slice. For empty slices it returns false.
func same(a, b []*dispatch.Operation) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// document answers GET and HEAD of a document.
func (x *exchange) document() *refusal {
	end, refused := x.begin()
	if refused != nil {
		return refused
	}
	defer end()
	made := x.visible().generated(x.r.URL.Path[len(root):])
	header := x.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-cache") // caches must revalidate
	header.Set("ETag", made.tag)
	r := x.r.Clone(x.r.Context())
	// a range of the document is not JSON, and neither is the error about an invalid range
	r.Header.Del("Range")
	http.ServeContent(x.answerWriter(len(made.text)), r, "", time.Time{},
		bytes.NewReader(made.text))
	return nil
}
