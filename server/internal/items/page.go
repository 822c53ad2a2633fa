package items

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/results"
)

// ParseCursor returns the key of the last item that the client has received; "" for a nil cursor.
// So the server keeps no state for a cursor, and it stays valid when items are added and removed
// (2026-07-28, server/utilities/pagination).
func ParseCursor(cursor []byte) (key string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(string(cursor))
	if err != nil || cursor != nil && len(text) == 0 {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: cursor %.100q was not made by this server", cursor)
	}
	return string(text), nil
}

// Cursor returns the cursor for the items that follow a key.
func Cursor(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// Page returns up to limit items from a cursor on, of those that keep accepts, and reports whether
// more follow. A nil keep accepts all.
func (l *Listing[E]) Page(cursor []byte, limit int, keep func(E) bool) (page []E, more bool,
	err error) {
	after, err := ParseCursor(cursor)
	if err != nil {
		return nil, false, err
	}
	rest := l.Sorted
	if after != "" {
		from, _ := slices.BinarySearchFunc(rest, after+"\x00",
			func(e E, key string) int { return strings.Compare(e.Base().Key, key) })
		rest = rest[from:]
	}
	if keep == nil {
		return rest[:min(limit, len(rest))], len(rest) > limit, nil
	}
	for _, e := range rest {
		switch {
		case !keep(e):
		case len(page) == limit:
			return page, true, nil
		default:
			page = append(page, e)
		}
	}
	return page, false, nil
}

// A Page is a part of a list, as a result.
type Page[E Listed] struct {
	Common *results.Common
	Era    *era.Era
	Member string // the member of the result that has the items
	Items  []E
	More   bool // items follow
	// HiddenMeta are keys of _meta that the client does not get in definitions.
	HiddenMeta []string
	Public     bool // the list is the same for all clients
	Varies     bool // it depends on the caller, and may change when he does
	Hints      Hints
	Partial    []string // IDs of servers whose items are missing
}

// Hints selects the eras in which a page has cache hints.
type Hints uint8

const (
	HintsModern Hints = iota
	HintsAlways
	HintsNever
)

// Size returns about how many bytes AppendJSON appends.
func (p *Page[E]) Size() int {
	size := 1024
	for _, e := range p.Items {
		size += e.Base().size() + 1
	}
	return size
}

// AppendJSON appends the result.
func (p *Page[E]) AppendJSON(dst []byte) []byte {
	dst = append(append(append(dst, `{"`...), p.Member...), `":[`...)
	for i, e := range p.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.Base().appendDefinition(dst, p.Era, p.HiddenMeta)
	}
	dst = append(dst, ']')
	if p.More {
		dst = append(dst, `,"nextCursor":"`...)
		dst = append(dst, Cursor(p.Items[len(p.Items)-1].Base().Key)...)
		dst = append(dst, '"')
	}
	if p.Hints == HintsAlways || p.Hints == HintsModern && p.Era.Modern {
		dst = p.Common.AppendHints(dst, p.Public && !p.Varies, p.Varies || p.Partial != nil)
	}
	if p.Partial == nil {
		return p.Common.AppendEnd(dst, p.Era.Modern)
	}
	dst = append(p.Common.AppendMeta(dst, p.Era.Modern), `"`+mcp.MetaPartial+`":[`...)
	for i, id := range p.Partial {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, id)
	}
	return append(dst, "]}}"...)
}
