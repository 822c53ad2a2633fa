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
	// maxListBytes is the size of all pages of a list together: whoever lists keeps them.
	maxListBytes = 64 << 20
)

// items yields the elements of the pages of a list. what is their name in errors.
func items[R, T any](c *Client, what string, pages iter.Seq2[json.RawMessage, error], method string,
	of func(*R) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		count := 0
		for page, err := range pages {
			var list []T
			if err == nil {
				var r R
				if bad := mcp.Unmarshal(c.removeOversized(page), &r); bad != nil {
					err = c.listError(method, "an invalid result: %v", bad)
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

// pages yields the results of a paginated method (2026-07-28, Pagination). It holds a cached page
// until the next one has arrived: if the server rejects the cursor of a cached page, the held pages
// are fetched again, so that no element is repeated or lost (2026-07-28, Caching, "Interaction with
// Pagination").
func (c *Client) pages(ctx context.Context, method string,
	opts []CallOption) iter.Seq2[json.RawMessage, error] {
	return c.pagesWith(ctx, method, nil, opts)
}

// pagesWith is pages for a method with a parameter, an encoded member of its params.
func (c *Client) pagesWith(ctx context.Context, method string, member []byte,
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
		seen := make(map[[sha256.Size]byte]bool) // cursors, which may be long
		var params, resume json.RawMessage       // resume are the params of the first page in held
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
			err := c.do(ctx, r, opts)
			if _, refused := errors.AsType[*rpc.Error](err); refused && len(held) > 0 {
				n, params, opts = n-len(held)-1, resume, append(slices.Clone(opts), Fresh())
				for _, page := range held {
					size -= len(page)
				}
				held = nil
				clear(seen)
				continue
			}
			if err != nil {
				flush(err)
				return
			}
			if size += len(page); size > maxListBytes {
				flush(c.listError(method, "more than %d bytes in all pages", maxListBytes))
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
				flush(c.listError(method,
					"the server's pages lead round in a circle: the cursor %.40s came twice",
					cursor))
				return
			}
			seen[sum] = true
			params = slices.Concat(opening, []byte(`"cursor":`), cursor, []byte{'}'})
		}
		flush(c.listError(method, "more than %d pages", maxPages))
	}
}

// listError returns the error of an invalid list, and removes the list from the cache.
func (c *Client) listError(method, format string, args ...any) error {
	c.o.Cache.drop(method, "")
	return &CallError{Server: c.o.Name, Method: method, Err: protocolError(format, args...)}
}
