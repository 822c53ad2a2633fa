package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"

	"github.com/stdwire/stdwire/internal/jsonscan"
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
				bad := mcp.Unmarshal(page, &r)
				list = of(&r)
				if count += len(list); bad != nil {
					err = c.listError(method, "its result is not one: %v", bad)
				} else if count > maxItems {
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

// pages yields the results of a method that lists something in pages (2026-07-28, Pagination).
func (c *Client) pages(ctx context.Context, method string, opts []CallOption) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		seen := make(map[[sha256.Size]byte]bool) // cursors, which may be long
		var params json.RawMessage
		for range maxPages {
			page, err := c.Call(ctx, method, params, opts...)
			if !yield(page, err) || err != nil {
				return
			}
			cursor := jsonscan.Member(page, "nextCursor")
			if cursor == nil || string(cursor) == "null" { // "" is a cursor
				return
			}
			if _, ok := jsonscan.Unquote(cursor); !ok {
				yield(nil, c.listError(method, "the cursor is not a string: %.40s", cursor))
				return
			}
			sum := sha256.Sum256(cursor)
			if seen[sum] {
				yield(nil, c.listError(method, "the server's pages lead round in a circle: the cursor %.40s came twice", cursor))
				return
			}
			seen[sum] = true
			params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		yield(nil, c.listError(method, "more than %d pages", maxPages))
	}
}

func (c *Client) listError(method, format string, args ...any) error {
	return &CallError{Server: c.o.Name, Method: method, Err: protocolError(format, args...)}
}
