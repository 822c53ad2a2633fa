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

// documentTable has what can be got about the catalog, by its name below the root.
var documentTable = map[string]func(*handler, []*dispatch.Operation) []byte{
	"manifest": func(h *handler,
		_ []*dispatch.Operation) []byte {
		return h.catalog.Manifest()
	},
	"openapi.json": (*handler).openAPI,
}

// documents keeps what was made of the catalog until it changes.
type documents struct {
	mu         sync.Mutex
	operations []*dispatch.Operation // that they were made of
	made       map[string]document
}

type document struct {
	text []byte
	tag  string // for the header ETag
}

// made returns the document of that name as it is now.
func (h *handler) made(name string) document {
	d := &h.documents
	d.mu.Lock()
	defer d.mu.Unlock()
	if operations := h.catalog.Operations(); !same(d.operations, operations) {
		d.operations, d.made = operations, map[string]document{}
	}
	if made, ok := d.made[name]; ok {
		return made
	}
	text := documentTable[name](h, d.operations)
	made := document{text, fmt.Sprintf(`"%x"`, sha256.Sum256(text))}
	d.made[name] = made
	return made
}

// same reports whether the catalog has not changed: it hands out the same slice then. Of an empty
// one that cannot be seen.
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
	made := x.made(x.r.URL.Path[len(root):])
	header := x.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-cache") // to be kept, and asked for each time
	header.Set("ETag", made.tag)
	r := x.r.Clone(x.r.Context())
	// a part of it is no JSON, and what is wrong with a Range is not told in JSON
	r.Header.Del("Range")
	http.ServeContent(x.answerWriter(len(made.text)), r, "", time.Time{},
		bytes.NewReader(made.text))
	return nil
}
