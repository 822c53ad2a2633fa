package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxPages = 1000
	maxItems = 100_000
)

// items yields what the pages of a list have in them; what is its name.
func items[R, T any](c *Client, what string, pages iter.Seq2[json.RawMessage, error], method string, of func(*R) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		count := 0
		for page, err := range pages {
			var list []T
			if err == nil {
				var r R
				if bad := mcp.Unmarshal(c.removeOversized(page), &r); bad != nil {
					err = c.listError(method, "its result is not one: %v", bad)
				} else {
					list = of(&r)
				}
				if count += len(list); count > maxItems {
					err = c.listError(method, "more than %d %s", maxItems, what)
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// pages yields the results of a method that lists something in pages (2026-07-28, Pagination). A page from the cache is held back until the one after it is
// there. So if the server refuses the cursor that kept pages lead to, they can be fetched anew, and come neither twice nor never (2026-07-28, Caching,
// "Interaction with Pagination").
func (c *Client) pages(ctx context.Context, method string, opts []CallOption) iter.Seq2[json.RawMessage, error] {
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
		seen := make(map[[sha256.Size]byte]bool) // cursors, which may be long
		var params, resume json.RawMessage       // resume was that of the first in held
		opts := opts                             // of this round: the sequence may be ranged over again
		for n := 0; n < maxPages; n++ {
			var page json.RawMessage
			r := &call{method: method, params: params, decode: page.UnmarshalJSON}
			err := c.do(ctx, r, opts)
			if _, refused := errors.AsType[*rpc.Error](err); refused && len(held) > 0 {
				n, params, opts = n-len(held)-1, resume, append(slices.Clone(opts), Fresh())
				held = nil
				clear(seen)
				continue
			}
			if err != nil {
				flush(err)
				return
			}
			if len(held) == 0 {
				resume = params
			}
			held = append(held, page)
			cursor := jsonscan.Member(page, "nextCursor")
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
			sum := sha256.Sum256(cursor)
			if seen[sum] {
				flush(c.listError(method, "the server's pages lead round in a circle: the cursor %.40s came twice", cursor))
				return
			}
			seen[sum] = true
			params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		flush(c.listError(method, "more than %d pages", maxPages))
	}
}

// listError is the error of a list that makes no sense, and is not kept either.
func (c *Client) listError(method, format string, args ...any) error {
	c.o.Cache.drop(method, "")
	return &CallError{Server: c.o.Name, Method: method, Err: protocolError(format, args...)}
}
