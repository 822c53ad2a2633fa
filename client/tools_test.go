package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// pages serves tools/list with the page for a cursor.
func pages(next func(cursor string) (result string)) func(s *scripted) {
	return func(s *scripted) {
		s.modern()
		for m := s.read(); m.line != ""; m = s.read() {
			var p struct{ Cursor *string }
			if err := json.Unmarshal(m.Params, &p); err != nil {
				panic(err)
			}
			cursor := "-"
			if p.Cursor != nil {
				cursor = *p.Cursor
			}
			if result := next(cursor); result != "" {
				s.reply(m, result)
			} else {
				s.refuse(m, -32602, "no such cursor")
			}
		}
	}
}

func page(next string, names ...string) string {
	var tools []string
	for _, name := range names {
		tools = append(tools,
			fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"x-new":1}`, name))
	}
	result := `{"resultType":"complete", "tools":[` + strings.Join(tools, ",") + `]`
	if next != "" {
		result += `,"nextCursor":` + next
	}
	return result + `}`
}

func TestTools(t *testing.T) {
	endless, constant := 0, 0
	for _, test := range []struct {
		name string
		next func(cursor string) string
		want string // the names, and the error
	}{
		{"one page", func(string) string { return page("", "a", "b") }, "a b"},
		{"no tools", func(string) string { return page("") }, ""},
		{"a null cursor", func(string) string { return page("null", "a") }, "a"},
		{"an empty cursor is one", func(cursor string) string {
			if cursor == "-" {
				return page(`""`, "a")
			}
			return page("", "b"+cursor)
		}, "a b"},
		{"a strange cursor comes back as it is", func(cursor string) string {
			if cursor == "-" {
				return page(`"\u00e5 \"\\/"`, "a")
			}
			return page("", cursor)
		}, `a å "\/`},
		{"three pages", func(cursor string) string {
			return map[string]string{"-": page(`"1"`, "a"), "1": page(`"2"`),
				"2": page("", "b")}[cursor]
		}, "a b"},
		{"a circle", func(cursor string) string {
			return map[string]string{"-": page(`"1"`, "a"), "1": page(`"2"`, "b"),
				"2": page(`"1"`, "c")}[cursor]
		}, "a b c"},
		{"a constant cursor", func(string) string {
			constant++
			return page(`"next"`, fmt.Sprintf("t%d", min(constant, 4)))
		}, "t1 t2 t3 t4"},
		{"an empty cursor, always", func(string) string { return page(`""`, "a", "b") }, "a b"},
		{"an empty cursor that is refused", func(cursor string) string {
			if cursor == "" {
				return ""
			}
			return page(`""`, "a")
		}, "a"},
		{"no end", func(string) string {
			endless++
			return page(fmt.Sprintf(`"%d"`, endless))
		}, ""},
		{"a cursor that is none", func(string) string {
			return page(`7`, "a")
		}, `a server "server": tools/list: the cursor is not a string: 7`},
		{"a tool that is none", func(string) string {
			return `{"tools":[null]}`
		}, `server "server": tools/list: an element is invalid: want an object, not null`},
		{"tools between good ones", func(cursor string) string {
			if cursor == "-" {
				return `{"tools":[{"name":"a"},{"description":5},{"name":"b"}],"nextCursor":"2"}`
			}
			return `{"tools":[{"name":"c"},{"name":"d","annotations":[]},7]}`
		}, `a b c server "server": tools/list: an element is invalid: description: want a string, not a number; "d" is invalid: annotations: want an object, not an array; an element is invalid: want an object, not a number`},
		{"a member beside the list", func(string) string {
			return `{"tools":[{"name":"a"}],"ttlMs":"soon","_meta":7}`
		}, "a"},
		{"no list", func(string) string {
			return `{"tools":{}}`
		}, `server "server": tools/list: an invalid result: tools: want an array, not an object (at byte 9)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, Options{}, pages(test.next))
			var got []string
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					assert.ErrorIs(t, err, rpc.ErrProtocol)
					got = append(got, err.Error())
				} else {
					got = append(got, tool.Name)
				}
			}
			assert.Equal(t, strings.Join(got, " "), test.want)
		})
	}
}

func TestTooManyTools(t *testing.T) {
	names := make([]string, 20_000)
	n := 0
	var log bytes.Buffer
	o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	c := connect(t, o, pages(func(string) string {
		n++
		return page(fmt.Sprintf(`"%d"`, n), names...)
	}))
	seen := 0
	for _, err := range c.Tools(t.Context()) {
		assert.NilError(t, err)
		seen++
	}
	assert.Equal(t, seen, 100_000)
	assert.Assert(t, strings.Contains(log.String(), `reason="it has more than 100000 tools"`),
		log.String())
}

func TestToolsError(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) { s.modern(); s.serve(nil) })
	for tool, err := range c.Tools(t.Context()) {
		assert.Assert(t, tool == nil)
		assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
	}
}

// If the caller stops early, later pages are not fetched.
func TestToolsStopped(t *testing.T) {
	asked := 0
	c := connect(t, Options{}, pages(func(string) string {
		asked++
		return page(fmt.Sprintf(`"%d"`, asked), "a", "b")
	}))
	for range c.Tools(t.Context()) {
		break
	}
	assert.NilError(t, c.Close())
	assert.Equal(t, asked, 1)
}

func TestToolPages(t *testing.T) {
	c := connect(t, Options{}, pages(func(cursor string) string {
		return map[string]string{"-": page(`"1"`, "a"), "1": page("7", "b")}[cursor]
	}))
	var got []string
	for raw, err := range c.Integration().Pages(t.Context(), mcp.KindTool) {
		if err != nil {
			assert.ErrorIs(t, err, rpc.ErrProtocol)
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(raw))
	}
	assert.DeepEqual(t, got,
		[]string{page(`"1"`, "a"), page("7", "b"),
			`server "server": tools/list: the cursor is not a string: 7`})
}
