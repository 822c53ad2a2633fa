// Package largeresult gives clients previews of results that are too large for them, and offers a
// tool and a resource template to read the whole results.
package largeresult

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway/internal/preview"
	"github.com/stdwire/stdwire/client/host/gateway/internal/spill"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Tool is the name of the tool that reads large results.
const Tool = "read_result"

const (
	scheme   = "stdwire-result://"
	template = scheme + "{id}{?pointer,offset,limit}"

	inputSchema = `{"type":"object","properties":{` +
		`"id":{"type":"string","description":"The id in the note of the shortened result."},` +
		`"pointer":{"type":"string","description":"JSON Pointer of a value in the result, as in the note. By default it is the value that was shortened most."},` +
		`"offset":{"type":"integer","minimum":0,"maximum":2147483647,"default":0,"description":"The number of the first line, element or member to read, from 0."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":2147483647,"description":"How many to read at most; by default as many as fit."}},` +
		`"required":["id"],"additionalProperties":false}`

	toolDefinition = `{"name":"` + Tool + `","title":"Read a large result",` +
		`"description":"Reads the rest of a result that was shortened. The note in the shortened result has the arguments. Returns what was read of how many lines, elements or members, where to read on (next), and then these themselves.",` +
		`"inputSchema":` + inputSchema +
		`,"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`

	templateDefinition = `{"name":"result","title":"A large result","uriTemplate":"` + template +
		`","description":"A result that was shortened: all of it, or the lines, elements or members of the value at a JSON Pointer."}`

	// headerSize is about the number of characters with which the tool describes what was read.
	headerSize = 800
)

// Results shortens results, and keeps whole ones for their callers. All methods are safe for
// concurrent use.
type Results struct {
	store  *spill.Store
	shared Shared // nil: other gateways read none
	input  func() *schema.Schema

	mu        sync.Mutex
	offeredAt map[*server.Server]bool
	last      lastView
}

// about is what is known about a result that is kept.
type about struct {
	Pointer string `json:"pointer"` // of what the preview has shortened most
	Limit   int    `json:"limit"`   // characters that its reader takes
}

// A lastView is the view that was read last, because a large value is usually read in order.
type lastView struct {
	id   string
	view *preview.View
}

// New returns an empty store of results. dir, if set, is a directory for those for which there is
// no room in memory. shared keeps those that other gateways read, too; it may be nil.
func New(dir string, shared Shared, log *slog.Logger) *Results {
	return &Results{shared: shared, store: spill.Options{Dir: dir, Logger: log}.New(),
		offeredAt: make(map[*server.Server]bool),
		input:     sync.OnceValue(func() *schema.Schema { return schema.MustCompile(inputSchema) })}
}

// Close withdraws the tool and the template, and removes all results.
func (r *Results) Close() {
	r.OfferAt(nil)
	r.store.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = lastView{}
}

// OfferAt offers the tool and the template at these servers, and withdraws them at all others.
func (r *Results) OfferAt(servers []*server.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := make(map[*server.Server]bool)
	for _, s := range servers {
		if wanted[s] = true; r.offeredAt[s] {
			continue
		}
		r.offeredAt[s] = true
		for _, item := range []server.Item{
			{Kind: mcp.KindTool, Definition: json.RawMessage(toolDefinition), Use: r.useTool,
				Listed: true},
			{Kind: mcp.KindResourceTemplate, Definition: json.RawMessage(templateDefinition),
				Use: r.useTemplate}} {
			server.Must(s.Integration().AddItem(item)) // the definitions are valid
		}
	}
	for s := range r.offeredAt {
		if !wanted[s] {
			s.Remove(mcp.KindTool, Tool)
			s.Remove(mcp.KindResourceTemplate, template)
			delete(r.offeredAt, s)
		}
	}
}

// Fit returns the result of a tool for the client of the request in ctx: unchanged if its text has
// at most limit characters, or if it is an error or not the result of a call that has ended, and
// otherwise a preview. output is the outputSchema with which the tool is offered, or nil. Fit
// returns the result unchanged with an error if it has no preview.
func (r *Results) Fit(ctx context.Context, result json.RawMessage, limit int,
	output json.RawMessage) (json.RawMessage, error) {
	if len(result) <= limit || !preview.Applies(result) || preview.Size(result) <= limit {
		return result, nil
	}
	id := spill.NewID()
	from := preview.Source{ID: id, Tool: Tool, Until: time.Now().Add(spill.Lifetime)}
	if f, known := mcp.FeaturesOf(server.ConnFrom(ctx).Revision()); f.ResourceLinks || !known {
		from.URI = scheme + id
	}
	short, largest, err := preview.Of(result, limit, output, from)
	if err == nil && !r.keep(ctx, id, result, about{largest.Pointer, limit}) {
		short, _, err = preview.Of(result, limit, output, preview.Source{})
	}
	if err != nil {
		return result, err
	}
	return short, nil
}

// Schema returns the outputSchema with which a tool is offered whose results may be shortened.
func Schema(output json.RawMessage) json.RawMessage { return preview.WithMember(output) }

// A query says what to read.
type query struct {
	ID      string  `json:"id"`
	Pointer *string `json:"pointer"`
	Offset  int     `json:"offset"`
	Limit   int     `json:"limit"`
}

// useTool answers a call of the tool.
func (r *Results) useTool(ctx context.Context, _ string,
	arguments json.RawMessage) (json.RawMessage, error) {
	q := query{Limit: math.MaxInt32}
	err := r.input().Validate(arguments)
	if err == nil {
		err = mcp.Unmarshal(arguments, &q)
	}
	var read *preview.Range
	if err == nil {
		var kept spill.Result
		if kept, err = r.find(ctx, q.ID); err == nil {
			read, err = r.read(kept, q)
		}
	}
	if err != nil {
		return jsonscan.SetMember(preview.Result(err.Error()), "isError", []byte("true")), nil
	}
	header, err := mcp.Marshal(read)
	return preview.Result(string(header), string(read.Text)), err
}

// errUnknown does not distinguish a result of another principal.
var errUnknown = fmt.Errorf("there is no result with this id, or not any more: results are kept for %v; make the call again",
	spill.Lifetime)

// maxCuts is how many cuts within a single unit are described.
const maxCuts = 3

// read reads a range of a result.
func (r *Results) read(kept spill.Result, q query) (*preview.Range, error) {
	about := kept.About.(about)
	pointer := about.Pointer
	if q.Pointer != nil {
		pointer = *q.Pointer
	}
	r.mu.Lock()
	view := r.last.view
	if r.last.id != q.ID || view == nil || view.Pointer != pointer {
		view = nil
	}
	r.mu.Unlock()
	if view == nil {
		whole, ok := kept.Read()
		if !ok {
			return nil, errUnknown
		}
		var err error
		if view, err = preview.NewView(whole, pointer); err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.last = lastView{q.ID, view}
		r.mu.Unlock()
	}
	read, err := view.Read(q.Offset, q.Limit, max(about.Limit-headerSize, headerSize))
	if err == nil && len(read.Cuts) > maxCuts {
		read.Cuts = read.Cuts[:maxCuts]
	}
	return read, err
}

// useTemplate reads a result, or a range of it, as a resource.
func (r *Results) useTemplate(ctx context.Context, uri string, _ json.RawMessage) (json.RawMessage,
	error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	id, ranges, hasRange := strings.Cut(rest, "?")
	if !ok {
		return nil, server.ResourceNotFound(uri)
	}
	kept, err := r.find(ctx, id)
	switch {
	case errors.Is(err, errUnknown):
		return nil, server.ResourceNotFound(uri)
	case err != nil:
		return nil, err
	}
	contents := mcp.ResourceContents{URI: uri, MIMEType: "application/json"}
	if !hasRange {
		whole, ok := kept.Read()
		if !ok {
			return nil, server.ResourceNotFound(uri)
		}
		contents.Text = string(whole)
	} else {
		q, ok := parseQuery(id, ranges)
		if !ok {
			return nil, server.ResourceNotFound(uri)
		}
		read, err := r.read(kept, q)
		if err != nil {
			return nil, server.ResourceNotFound(uri)
		}
		if read.Unit == preview.Lines {
			contents.MIMEType = "text/plain"
		}
		contents.Text = string(read.Text)
		if err := contents.Meta.Set(metaRange, read); err != nil {
			return nil, err
		}
	}
	return mcp.Marshal(struct {
		Contents []mcp.ResourceContents `json:"contents"`
	}{[]mcp.ResourceContents{contents}})
}

// metaRange is the member of _meta that describes a range that was read as a resource.
const metaRange = "stdwire/range"

// parseQuery parses the query of a URI.
func parseQuery(id, text string) (q query, ok bool) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return q, false
	}
	q = query{ID: id, Limit: math.MaxInt32}
	for name, value := range values {
		switch {
		case len(value) != 1:
			return q, false
		case name == "pointer":
			q.Pointer = &value[0]
		case name == "offset" || name == "limit":
			n, err := strconv.ParseUint(value[0], 10, 31)
			if err != nil || name == "limit" && n == 0 {
				return q, false
			}
			if name == "offset" {
				q.Offset = int(n)
			} else {
				q.Limit = int(n)
			}
		default:
			return q, false
		}
	}
	return q, true
}
