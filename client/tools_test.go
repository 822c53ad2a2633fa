package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
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
			s.reply(m, next(cursor))
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
	endless := 0
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
		}, `a b c server "server": tools/list: the server's pages lead round in a circle: the cursor "1" came twice`},
		{"no end", func(string) string {
			endless++
			return page(fmt.Sprintf(`"%d"`, endless))
		}, `server "server": tools/list: more than 1000 pages`},
		{"a cursor that is none", func(string) string {
			return page(`7`, "a")
		}, `server "server": tools/list: an invalid result: nextCursor: want a string, not a number (at byte 104)`},
		{"a tool that is none", func(string) string {
			return `{"tools":[null]}`
		}, `server "server": tools/list: an invalid result: tools[0]: want an object, not null (at byte 10)`},
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
	c := connect(t, Options{}, pages(func(string) string {
		n++
		return page(fmt.Sprintf(`"%d"`, n), names...)
	}))
	seen := 0
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			assert.Error(t, err, `server "server": tools/list: more than 100000 tools`)
			break
		}
		seen++
	}
	assert.Equal(t, seen, 100_000)
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
	for raw, err := range c.Integration().ToolPages(t.Context()) {
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
