package server

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// newPage returns the page of a list that the client requests. A cursor is the key of the last item
// that the client has received. So the server keeps no state for it, and it stays valid when items
// are added and removed (2026-07-28, server/utilities/pagination).
func newPage(r *request, kind mcp.Kind, l *listing) (*page, error) {
	s := r.conn.server
	cursor, err := r.params.Text(paramCursor)
	if err != nil {
		return nil, err
	}
	from := 0
	if cursor != nil {
		key, err := base64.RawURLEncoding.DecodeString(string(cursor))
		if err != nil || len(key) == 0 {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: cursor %.100q was not made by this server", cursor)
		}
		from, _ = slices.BinarySearchFunc(l.sorted, string(key)+"\x00",
			func(i *item, key string) int { return strings.Compare(i.key, key) })
	}
	p := &page{server: s, era: r.era, name: kind.ListMember(),
		partial: s.missingServers(kind), hiddenMeta: r.hiddenMeta(),
		public: s.o.PublicLists && !l.hasExtension && !s.metaIsOffered(),
		items:  l.sorted[from:min(from+s.o.PageSize, len(l.sorted))], more: from+
			s.o.PageSize < len(l.sorted)}
	if s.o.Visible != nil || l.hasSessionOnly && r.conn.isStateless() || l.hasExtension ||
		l.hasModernOnly && !r.era.Modern {
		p.items, p.more = visibleItems(r, l.sorted[from:], s.o.PageSize)
	}
	p.Result = Result{content: p, checked: true}
	return p, nil
}

// visibleItems returns the first items that the client may see.
func visibleItems(r *request, items []*item, limit int) (seen []*item, more bool) {
	for _, i := range items {
		if i.sessionOnly && r.conn.isStateless() || i.legacy == nil && !r.era.Modern ||
			!r.maySee(i) {
			continue
		}
		if len(seen) == limit {
			return seen, true
		}
		seen = append(seen, i)
	}
	return seen, false
}

// A page is a part of a list, as a result.
type page struct {
	Result
	server *Server
	era    *era.Era
	name   string
	items  []*item
	more   bool
	// keys of _meta that the client does not get in definitions
	hiddenMeta []string
	public     bool // the list is the same for all clients
	hints      hints
	partial    []string // IDs of servers whose items are missing; see Upstreams.Missing
}

// hints selects the eras in which a page has cache hints.
type hints uint8

const (
	hintsModern hints = iota
	hintsAlways
	hintsNever
)

// appendEnd ends the object of a result.
func (p *page) appendEnd(dst []byte) []byte {
	if p.hints == hintsAlways || p.hints == hintsModern && p.era.Modern {
		if p.partial != nil {
			dst = p.server.appendHintsTTL(dst, p.public, 0)
		} else {
			dst = p.server.appendHints(dst, p.public)
		}
	}
	switch {
	case p.partial != nil && p.era.Modern:
		dst = append(append(dst, p.server.modernSuffix...), ',')
	case p.partial != nil:
		dst = append(dst, `,"_meta":{`...)
	case p.era.Modern:
		return p.server.appendModernSuffix(dst)
	default:
		return append(dst, '}')
	}
	dst = append(dst, `"`+mcp.MetaPartial+`":[`...)
	for i, id := range p.partial {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, id)
	}
	return append(dst, "]}}"...)
}

func (p *page) size() int {
	size := 1024
	for _, item := range p.items {
		if size += len(item.definition) + 1; item.tool != nil && isTask(item.tool.tasks) {
			size += len(executionStart) + 16
		}
	}
	return size
}

func (p *page) appendJSON(dst []byte) []byte {
	dst = append(append(append(dst, `{"`...), p.name...), `":[`...)
	for i, item := range p.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.appendDefinition(dst, p.era, p.hiddenMeta)
	}
	dst = append(dst, ']')
	if p.more {
		dst = append(dst, `,"nextCursor":"`...)
		dst = base64.RawURLEncoding.AppendEncode(dst, []byte(p.items[len(p.items)-1].key))
		dst = append(dst, '"')
	}
	return p.appendEnd(dst)
}
