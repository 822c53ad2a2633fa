package streamable_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// headerLines returns the headers of a request, without those of every HTTP client.
func (s *recordedRequest) headerLines() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Header)) {
		if !slices.Contains([]string{"Accept-Encoding", "Content-Length", "User-Agent"}, name) {
			lines = append(lines, name+": "+strings.Join(s.Header[name], " | "))
		}
	}
	return lines
}

// custom are headers of the application, with all that the protocol reserves.
var custom = http.Header{
	"authorization": {"Bearer secret"}, "X-Two": {"1", "2"}, "Host": {"other.example"},
	"mcp-method": {"evil"}, "MCP-Name": {"evil"}, "Mcp-Session-Id": {"evil"},
	"Mcp-Protocol-Version": {"evil"}, "Mcp-Param-Region": {"evil"},
	"mcp-param-zone": {"evil"}, "Last-Event-ID": {"evil"}, "Accept": {"evil"},
	"Content-Type": {"evil"},
}

func TestModernHeaders(t *testing.T) {
	inBubble(t, modern(answerCall), func(t *testing.T, s *testServer) {
		s.o.Header = custom
		check(t, s.connect(t, client.Options{}))
		r := s.last(t, "tools/call")
		assert.DeepEqual(t, r.headerLines(), []string{
			"Accept: application/json, text/event-stream", "Authorization: Bearer secret",
			"Content-Type: application/json",
			"Mcp-Method: tools/call", "Mcp-Name: weather", "Mcp-Protocol-Version: 2026-07-28",
			"X-Two: 1 | 2",
		})
		assert.Equal(t, r.Host, "other.example")
		assert.DeepEqual(t, s.last(t, "server/discover").headerLines(), []string{
			"Accept: application/json, text/event-stream", "Authorization: Bearer secret",
			"Content-Type: application/json",
			"Mcp-Method: server/discover", "Mcp-Protocol-Version: 2026-07-28", "X-Two: 1 | 2",
		})
	})
}

func TestLegacyHeaders(t *testing.T) {
	inBubble(t, legacy(answerCall, nil), func(t *testing.T, s *testServer) {
		s.o.Header = custom
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		check(t, c)
		assert.NilError(t, c.Close())
		// which have no meaning in that revision
		own := []string{"Mcp-Param-Region: evil", "Mcp-Param-Zone: evil"}
		post := []string{"Accept: application/json, text/event-stream",
			"Authorization: Bearer secret", "Content-Type: application/json"}
		session := []string{"Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: s1",
			"X-Two: 1 | 2"}
		s.lines()
		want := map[string][]string{
			"POST initialize":                slices.Concat(post, own, session[2:]),
			"POST notifications/initialized": slices.Concat(post, own, session),
			"POST tools/call":                slices.Concat(post, own, session),
			"GET": slices.Concat(
				[]string{"Accept: text/event-stream", "Authorization: Bearer secret",
					"Cache-Control: no-store", "Content-Type: evil"}, own, session),
			"DELETE": slices.Concat(
				[]string{"Accept: evil", "Authorization: Bearer secret", "Content-Type: evil"}, own,
				session),
		}
		for _, r := range s.seen {
			line := strings.TrimSpace(r.Method + " " + r.message.Method)
			slices.Sort(want[line])
			assert.DeepEqual(t, r.headerLines(), want[line])
			delete(want, line)
		}
		assert.Equal(t, len(want), 0, "%v", want)
	})
}

// Mcp-Name is the name of the tool or prompt or the URI of the resource, encoded as a header value.
func TestModernNames(t *testing.T) {
	for name, want := range map[string]string{
		"weather": "weather", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ": "=?base64?IHBhZGRlZCA=?=", "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "a b": "a b",
		"\x7f": "=?base64?fw==?=", "file:///a?b#c": "file:///a?b#c",
	} {
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			answerJSON(w, r,
				`{"resultType":"complete","content":[],"contents":[],"messages":[],"ttlMs":0,"cacheScope":"private"}`)
		}), func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{})
			for method, params := range map[string]string{
				"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
				"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
			} {
				_, err := c.Call(t.Context(), method, map[string]string{params: name})
				assert.NilError(t, err)
				r := s.last(t, method)
				assert.DeepEqual(t, r.Header["Mcp-Name"], []string{want})
				assert.DeepEqual(t, r.Header["Mcp-Method"], []string{method})
			}
			_, err := c.Call(t.Context(), "tools/list", map[string]string{"name": name})
			assert.NilError(t, err)
			assert.Assert(t, s.last(t, "tools/list").Header["Mcp-Name"] == nil)
		})
	}
}

// listing is a modern server with one tool. Each tools/list uses the next of schemas.
func listing(call func(http.ResponseWriter, *recordedRequest),
	schemas ...string) func(http.ResponseWriter, *recordedRequest) {
	n := 0
	return modern(func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method != "tools/list" {
			call(w, r)
			return
		}
		schema := schemas[min(n, len(schemas)-1)]
		n++
		answerJSON(w, r,
			fmt.Sprintf(`{"resultType":"complete","tools":[%s],"ttlMs":0,"cacheScope":"private"}`,
				schema))
	})
}

func tool(name, properties string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, name,
		properties)
}

func TestModernParams(t *testing.T) {
	properties := `"s":{"type":"string","x-mcp-header":"Str"},"n":{"type":"integer","x-mcp-header":"num"},"b":{"type":"boolean","x-mcp-header":"BOOL"},
		"o":{"type":"object","properties":{"in":{"type":["string","null"],"x-mcp-header":"Deep-er"}}},"other":{"type":"number"}`
	for args, want := range map[string]string{
		`{"s":"us-west1","n":42,"b":true,"o":{"in":"x"},"other":1.5}`: "Mcp-Param-Bool: true, Mcp-Param-Deep-Er: x, Mcp-Param-Num: 42, Mcp-Param-Str: us-west1",
		`{"s":"Zürich","n":-7,"b":false}`:                             "Mcp-Param-Bool: false, Mcp-Param-Num: -7, Mcp-Param-Str: =?base64?WsO8cmljaA==?=",
		`{"s":"a\r\nEvil: 1","n":42.0}`:                               "Mcp-Param-Num: 42, Mcp-Param-Str: =?base64?YQ0KRXZpbDogMQ==?=",
		`{"s":null,"o":{"in":null}}`:                                  "",
		`{"o":{}}`:                                                    "",
		`{"o":"x","s":""}`:                                            "Mcp-Param-Str: ",
		`{}`:                                                          "",
		`{"n":9007199254740991}`:                                      "Mcp-Param-Num: 9007199254740991",
		`{"n":9007199254740992}`:                                      "! the argument n is neither a string, a boolean nor an integer",
		`{"s":{}}`:                                                    "! the argument s is neither",
		`{"n":1.5}`:                                                   "! the argument n is neither",
	} {
		inBubble(t, listing(answerCall, tool("weather", properties)),
			func(t *testing.T, s *testServer) {
				s.o.Header = custom
				c := s.connect(t, client.Options{})
				for _, err := range c.Tools(t.Context()) {
					assert.NilError(t, err)
				}
				_, err := c.CallTool(t.Context(), "weather", rawJSON(args))
				if text, fails := strings.CutPrefix(want, "! "); fails {
					assert.ErrorContains(t, err, text)
					assert.Equal(t, s.count("POST tools/call"), 0)
					return
				}
				assert.NilError(t, err)
				var got []string
				for _, line := range s.last(t, "tools/call").headerLines() {
					if strings.HasPrefix(line, "Mcp-Param-") {
						got = append(got, line)
					}
				}
				assert.Equal(t, strings.Join(got, ", "), want)
			})
	}
}

// A tool with invalid x-mcp-header annotations is omitted from the list, logged, and cannot be
// called. In the legacy era there are no such annotations.
func TestInvalidToolsAreOmitted(t *testing.T) {
	tools := tool("good", `"s":{"type":"string","x-mcp-header":"S"}`) + "," +
		tool("bad", `"s":{"type":"number","x-mcp-header":"S"}`)
	inBubble(t, listing(answerCall, tools), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		for range 2 {
			var names []string
			for tool, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
				names = append(names, tool.Name)
			}
			assert.DeepEqual(t, names, []string{"good"})
		}
		assert.Equal(t, strings.Count(s.logged(), "a tool is left out"), 1)
		assert.Assert(t, strings.Contains(s.logged(), "tool=bad") &&
			strings.Contains(s.logged(), "is not string, integer or boolean"), s.logged())
		_, err := c.CallTool(t.Context(), "bad", nil)
		assert.ErrorContains(t, err, `tool "bad": its definition cannot be used over HTTP`)
		assert.Assert(t, errors.Is(err, rpc.ErrProtocol))
		_, err = c.CallTool(t.Context(), "good", nil)
		assert.NilError(t, err)
		assert.Equal(t, s.count("POST tools/call"), 1)
	})
}

func TestLegacyHasNoParamHeaders(t *testing.T) {
	inBubble(t, legacy(func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "tools/list" {
			answerJSON(w, r, `{"tools":[`+
				tool("weather", `"s":{"type":"string","x-mcp-header":"S"}`)+`]}`)
			return
		}
		answerCall(w, r)
	}, nil), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		for _, err := range c.Tools(t.Context()) {
			assert.NilError(t, err)
		}
		_, err := c.CallTool(t.Context(), "weather", rawJSON(`{"s":"x"}`))
		assert.NilError(t, err)
		for name := range s.last(t, "tools/call").Header {
			assert.Assert(t, name != "Mcp-Method" && name != "Mcp-Name" &&
				!strings.HasPrefix(name, "Mcp-Param"), name)
		}
	})
}

// If the server refuses a call because of missing headers, the client lists the tools again, and
// repeats the call once if the list has changed.
func TestMissingHeaders(t *testing.T) {
	before, after := tool("weather", `"s":{"type":"string"}`),
		tool("weather", `"s":{"type":"string","x-mcp-header":"S"}`)
	strict := func(w http.ResponseWriter, r *recordedRequest) {
		if r.Header.Get("Mcp-Param-S") == "" {
			refuse(w, http.StatusBadRequest, string(r.message.ID), mcp.CodeHeaderMismatch,
				"Header mismatch")
			return
		}
		answerCall(w, r)
	}
	for _, tt := range []struct {
		name         string
		call         func(http.ResponseWriter, *recordedRequest)
		schemas      []string
		lists, calls int
		ok           bool
	}{
		{"not looked at before", strict, []string{after}, 1, 2, true},
		{"changed", strict, []string{before, after}, 2, 2, true},
		{"not changed", strict, []string{before}, 2, 1, false},
		{"become bad", strict,
			[]string{before, tool("weather", `"s":{"type":"number","x-mcp-header":"S"}`)}, 2, 1,
			false},
		{"refused again", refusing(400, mcp.CodeHeaderMismatch), []string{before, after, before}, 2,
			2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, listing(tt.call, tt.schemas...), func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{})
				if tt.lists > 1 {
					for _, err := range c.Tools(t.Context()) {
						assert.NilError(t, err)
					}
				}
				_, err := c.CallTool(t.Context(), "weather", rawJSON(`{"s":"x"}`))
				if tt.ok {
					assert.NilError(t, err)
				} else {
					var refused *rpc.Error
					assert.Assert(t, errors.As(err, &refused) &&
						refused.Code == mcp.CodeHeaderMismatch, "%v", err)
				}
				assert.Equal(t, s.count("POST tools/list"), tt.lists)
				assert.Equal(t, s.count("POST tools/call"), tt.calls)
			})
		})
	}
}
