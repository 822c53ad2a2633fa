package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/client/internal/listpage"
	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxPages = 1000
	maxItems = 100_000
	// maxListBytes is the size of all pages of a list together: whoever lists keeps them.
	maxListBytes = 64 << 20
)

// A listMethod is a method whose results are the pages of a list.
type listMethod struct {
	name   string
	member string // of a result: the list
	items  string // what the elements are, for messages
}

// itemsOf is items for the list of a kind.
func itemsOf[R, T any](ctx context.Context, c *Client, kind mcp.Kind, opts []CallOption,
	of func(*R) []T) iter.Seq2[T, error] {
	m := listMethod{kind.Info().ListMethod, kind.Info().ListMember, string(kind) + "s"}
	return items(c, m, c.pagesOfKind(ctx, kind, opts), of)
}

// items yields the elements of the pages of a list, and at the end an [InvalidItemsError] if some
// of them are invalid.
func items[R, T any](c *Client, m listMethod, pages iter.Seq2[json.RawMessage, error],
	of func(*R) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		count := 0
		invalid := new(InvalidItemsError)
		for page, err := range pages {
			var list []T
			if err == nil {
				var ignored error
				page = listpage.Cut(page, c.warnOversized)
				list, ignored, err = decodePage(m.member, page, of, invalid)
				if err != nil {
					err = c.listError(m.name, "an invalid result: %v", err)
				} else if ignored != nil {
					c.warn("a part of a list is ignored", slog.String("method", m.name),
						slog.String("reason", printable.Line(ignored.Error())))
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			if count += len(list); count > maxItems {
				c.warnPartial(m.name, fmt.Sprintf("it has more than %d %s", maxItems, m.items))
				list = list[:len(list)-(count-maxItems)]
			}
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if count > maxItems {
				break
			}
		}
		if invalid.Count > 0 {
			yield(none, &CallError{Server: c.o.Name, Method: m.name, Err: invalid})
		}
	}
}

// directory yields the direct children of a directory.
func directory[R, T any](ctx context.Context, c *Client, uri string, opts []CallOption,
	of func(*R) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := c.require(directoryCapability, mcp.MethodReadDirectory, uri); err != nil {
			yield(none, err)
			return
		}
		pages := c.pages(ctx, mcp.MethodReadDirectory,
			jsonscan.AppendString([]byte(`"uri":`), uri), opts)
		items(c, listMethod{mcp.MethodReadDirectory, "resources", "resources"}, pages, of)(yield)
	}
}

// decodePage returns the elements of a page, whose list is this member, and adds those that are
// invalid to invalid. ignored is the error of an invalid member beside the list. It fails if the
// page has no list.
func decodePage[R, T any](member string, page []byte, of func(*R) []T,
	invalid *InvalidItemsError) (list []T, ignored, err error) {
	var r R
	whole := mcp.Unmarshal(page, &r)
	if whole == nil {
		return of(&r), nil, nil
	}
	var all definitions
	if err := mcp.Unmarshal(page, &all); err != nil {
		return nil, nil, err
	}
	before := invalid.Count
	for element := range jsonscan.Elements(jsonscan.Member(page, member)) {
		o := object.Open(make([]byte, 0, len(element)+len(member)+8))
		o.Key(member)
		o.B = append(append(append(o.B, '['), element...), ']')
		var r R
		if err := mcp.Unmarshal(o.Close(), &r); err != nil {
			invalid.add(element, err)
		} else {
			list = append(list, of(&r)...)
		}
	}
	if invalid.Count == before {
		ignored = whole
	}
	return list, ignored, nil
}

// definitions is a page of any list.
type definitions struct {
	Tools     []json.RawMessage `json:"tools"`
	Resources []json.RawMessage `json:"resources"`
	Templates []json.RawMessage `json:"resourceTemplates"`
	Prompts   []json.RawMessage `json:"prompts"`
	Skills    []json.RawMessage `json:"skills"`
	Tasks     []json.RawMessage `json:"tasks"`
}

func (d *definitions) of(kind mcp.Kind) []json.RawMessage {
	return map[mcp.Kind][]json.RawMessage{mcp.KindTool: d.Tools, mcp.KindResource: d.Resources,
		mcp.KindResourceTemplate: d.Templates, mcp.KindPrompt: d.Prompts,
		mcp.KindSkill: d.Skills}[kind]
}

// warnOversized warns about a definition that a list omits.
func (c *Client) warnOversized(list, name string, reason error) {
	c.warn("a definition is left out", slog.String("list", list),
		slog.String("name", printable.Line(name)), slog.Any("reason", reason))
}

// warnPartial warns that a list may be incomplete.
func (c *Client) warnPartial(method, reason string) {
	c.warn("a list may be incomplete", slog.String("method", method),
		slog.String("reason", reason))
}

// pages yields the results of a paginated method (2026-07-28, Pagination). It holds a cached page
// until the next one has arrived: if the server rejects the cursor of a cached page, the held pages
// are fetched again, so that no element is repeated or lost (2026-07-28, Caching, "Interaction with
// Pagination").
//
// member is an encoded member of the params, or nil.
func (c *Client) pages(ctx context.Context, method string, member []byte,
	opts []CallOption) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		var held []json.RawMessage
		flush := func(err error) bool {
			for _, page := range held {
				if !yield(page, nil) {
					return false
				}
			}
			held = nil
			return err == nil || yield(nil, err)
		}
		// No conclusion is drawn from a cursor alone (2026-07-28, Pagination, "Implementation
		// Guidelines"): a server may give the same one for each page.
		seen := make(map[[sha256.Size]byte]bool)  // pages
		asked := make(map[[sha256.Size]byte]bool) // cursors that were sent
		var cursor []byte                         // of the next page
		repeated := false                         // the cursor was sent before
		var params, resume json.RawMessage        // resume are the params of the first page in held
		opening := []byte{'{'}
		if member != nil {
			params = slices.Concat(opening, member, []byte{'}'})
			opening = slices.Concat(opening, member, []byte{','})
		}
		size := 0    // of the pages
		opts := opts // a copy: the sequence may be ranged over again
		for n := 0; n < maxPages; n++ {
			var page json.RawMessage
			r := &call{method: method, params: params, decode: page.UnmarshalJSON}
			options := opts
			if repeated { // the cache has another page for these params, and must not keep this one
				options = append(slices.Clone(opts), Fresh())
			}
			err := c.do(ctx, r, options)
			if repeated {
				c.o.Cache.results.Drop(method, "")
			}
			_, refused := errors.AsType[*rpc.Error](err)
			if refused && len(held) > 0 {
				n, params, opts = n-len(held)-1, resume, append(slices.Clone(opts), Fresh())
				for _, page := range held {
					size -= len(page)
				}
				held, repeated = nil, false
				clear(seen)
				clear(asked)
				continue
			}
			if refused && string(cursor) == `""` {
				c.warnPartial(method, `the server refuses the cursor "", which it has given`)
				return
			}
			if err != nil {
				flush(err)
				return
			}
			if size += len(page); size > maxListBytes {
				c.warnPartial(method, fmt.Sprintf("it has more than %d bytes", maxListBytes))
				flush(nil)
				return
			}
			sum := listpage.Sum(page)
			if seen[sum] {
				c.warnPartial(method, "the server repeats a page and its cursor")
				c.o.Cache.results.Drop(method, "")
				flush(nil)
				return
			}
			seen[sum] = true
			if len(held) == 0 {
				resume = params
			}
			held = append(held, page)
			cursor = jsonscan.Member(page, "nextCursor")
			last := cursor == nil || string(cursor) == "null" // "" is a cursor
			if (last || !r.fromCache) && !flush(nil) {
				return
			}
			if last {
				return
			}
			if _, ok := jsonscan.Unquote(cursor); !ok {
				flush(c.listError(method, "the cursor is not a string: %.40s", cursor))
				return
			}
			sum = sha256.Sum256(cursor)
			repeated = asked[sum]
			asked[sum] = true
			params = slices.Concat(opening, []byte(`"cursor":`), cursor, []byte{'}'})
		}
		c.warnPartial(method, fmt.Sprintf("it has more than %d pages", maxPages))
		flush(nil)
	}
}

// pagesOf is pages for a list that needs a capability.
func (c *Client) pagesOf(ctx context.Context, needed capability, method string,
	opts []CallOption) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := c.require(needed, method, ""); err != nil {
			yield(nil, err)
			return
		}
		c.pages(ctx, method, nil, opts)(yield)
	}
}

// pagesOfKind is pages for the list of a kind. It yields an error for a kind that has none.
func (c *Client) pagesOfKind(ctx context.Context, kind mcp.Kind,
	opts []CallOption) iter.Seq2[json.RawMessage, error] {
	if kind.Info().ListMethod == "" {
		return func(yield func(json.RawMessage, error) bool) {
			yield(nil, fmt.Errorf("client: no method lists items of the kind %q", kind))
		}
	}
	return c.pagesOf(ctx, listCapabilities[kind], kind.Info().ListMethod, opts)
}

// listError returns the error of an invalid list, and removes the list from the cache.
func (c *Client) listError(method, format string, args ...any) error {
	c.o.Cache.results.Drop(method, "")
	return &CallError{Server: c.o.Name, Method: method, Err: errtext.Protocol(format, args...)}
}

// OmitInvalid returns a list, as of [Client.Tools], without an [InvalidItemsError] at its end: for
// a program that looks for one element, or that needs only those that are valid.
func OmitInvalid[T any](list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range list {
			if _, invalid := errors.AsType[*InvalidItemsError](err); invalid || !yield(item, err) {
				return
			}
		}
	}
}

// needsToolList reports whether the client uses the definitions of listed tools.
func (c *Client) needsToolList() bool {
	return c.headerTools != nil || c.o.Output != OutputUnchecked || c.session.Load().toolTasks()
}

// learnTools stores what later calls need to know from a result of tools/list.
func (c *Client) learnTools(result []byte) {
	// decoding for the caller reports the errors
	tools, _, _ := decodePage(mcp.KindTool.Info().ListMember, result,
		func(r *mcp.ListToolsResult) []*mcp.Tool { return r.Tools }, new(InvalidItemsError))
	if c.session.Load().toolTasks() {
		c.taskSupports.Learn(tools)
	}
	if c.o.Output != OutputUnchecked {
		c.outputSchemas.Learn(tools)
	}
	if c.headerTools == nil {
		return
	}
	for _, name := range c.headerTools.Learn(tools) {
		c.warn("a tool is left out", slog.String("tool", printable.Line(name)),
			slog.String("reason", printable.Line(c.headerTools.Tool(name).Bad.Error())))
	}
}

// refreshHeaderTools lists the tools after the server rejected the headers of a call. If the tool
// is unchanged, it returns refusal.
func (c *Client) refreshHeaderTools(ctx context.Context, tool string, refusal error) error {
	before := c.headerTools.Tool(tool)
	for _, err := range c.pages(ctx, mcp.MethodListTools, nil, []CallOption{Fresh()}) {
		if err != nil {
			return refusal
		}
	}
	if now := c.headerTools.Tool(tool); now.Bad != nil ||
		reflect.DeepEqual(now.Params, before.Params) {
		return refusal
	}
	return nil
}
