package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// textsOf returns the texts in the content of a result.
func textsOf(t *testing.T, result json.RawMessage) (texts []string) {
	t.Helper()
	for block := range jsonscan.Elements(jsonscan.Member(result, "content")) {
		if text, ok := jsonscan.Text(jsonscan.Member(block, "text")); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// A readOn is the arguments of the call that reads on, as a note has them.
type readOn struct {
	ID      string `json:"id"`
	Pointer string `json:"pointer"`
	Offset  int    `json:"offset"`
}

// noted returns the arguments in the note of a shortened result.
func noted(t *testing.T, result json.RawMessage) (q readOn) {
	t.Helper()
	for _, text := range textsOf(t, result) {
		if _, arguments, ok := strings.Cut(text, "call read_result with "); ok {
			assert.NilError(t, json.Unmarshal([]byte(strings.TrimSuffix(arguments, ".]")), &q))
			return q
		}
	}
	t.Fatalf("no note in %.1000s", result)
	return q
}

// readAll reads a result from a place on, as a client that takes so many characters.
func readAll(t *testing.T, c *client.Client, q readOn, limit int) (texts []string, reads int) {
	t.Helper()
	for {
		raw, err := c.CallToolRaw(t.Context(), "read_result", q)
		assert.NilError(t, err)
		got := textsOf(t, raw)
		assert.Equal(t, len(got), 2, "%.300s", raw)
		assert.Assert(t, utf8.RuneCountInString(got[0]+got[1]) <= limit)
		texts, reads = append(texts, got[1]), reads+1
		var r struct {
			Offset, Count, Total int
			Next                 *int
		}
		assert.NilError(t, json.Unmarshal([]byte(got[0]), &r))
		assert.Equal(t, r.Offset, q.Offset)
		if r.Next == nil {
			assert.Equal(t, r.Offset+r.Count, r.Total)
			return texts, reads
		}
		assert.Equal(t, *r.Next, r.Offset+r.Count)
		q.Offset = *r.Next
	}
}

// limited replaces the gateway by one that shortens results of the server "up".
func (w *fixture) limited(o gateway.Options, limits map[string]int) {
	w.t.Helper()
	s := w.server("up", w.era)
	s.MaxResultText, s.MaxResult = limits, 40<<20
	w.reopen(o, s)
}

func (w *fixture) addText(name, content string) {
	w.t.Helper()
	w.add(name, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return text("%s", content), nil
	})
}

// A client that takes 100,000 characters, about 25,000 tokens, finds each line of a result of
// 31 MB, or of 3 MB with the race detector.
func TestLargeResult(t *testing.T) {
	size := 31 << 20
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings,
		debug.BuildSetting{Key: "-race", Value: "true"}) {
		size = 3 << 20 // the race detector takes minutes for more
	}
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%08d the quick brown fox jumps over the lazy dog, \"déjà vu\"\n", i)
	}
	whole := b.String()
	const limit = 100_000
	for _, era := range eras {
		t.Run(fmt.Sprint(era), func(t *testing.T) {
			withFixture(t, era, func(t *testing.T, w *fixture) {
				sends := rpc.Limits{Limits: framing.Limits{MaxFrame: 64 << 20, MaxAppend: 40 << 20}}
				w.replaceUp(server.Options{Logger: quiet, Limits: sends}.New(
					server.Info{Name: "up", Version: "1"}, dispatch.NewCatalog()))
				w.addText("log", whole)
				w.limited(gateway.Options{}, map[string]int{"*": limit})
				w.client(client.Options{Era: era}, func(c *client.Client) {
					raw, err := c.CallToolRaw(t.Context(), "up__log", nil)
					assert.NilError(t, err)
					texts := textsOf(t, raw)
					assert.Equal(t, len(texts), 2)
					assert.Assert(t, utf8.RuneCountInString(texts[0]+texts[1]) <= limit)
					assert.Assert(t, strings.Contains(texts[1], fmt.Sprintf("of %d lines of /content/0/text",
						strings.Count(whole, "\n"))), texts[1])
					rest, reads := readAll(t, c, noted(t, raw), limit)
					if texts[0]+strings.Join(rest, "") != whole {
						t.Fatal("the parts are not the whole")
					}
					assert.Assert(t, reads < 350, reads)
				})
			})
		})
	}
}

// Both forms of a result are shortened, also where the outputSchema allows nothing else, and can be
// read on as a tool and as a resource.
func TestLargeStructuredResult(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		var rows []string
		for i := range 5000 {
			rows = append(rows, fmt.Sprintf(`{"id":%d}`, i))
		}
		structured := `{"rows":[` + strings.Join(rows, ",") + `]}`
		output := `{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"],"additionalProperties":false}`
		whole := fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%s}],"structuredContent":%s}`,
			jsonscan.AppendString(nil, structured), structured)
		for _, name := range []string{"rows", "whole"} {
			assert.NilError(t, w.up.Integration().AddItem(forwarded(mcp.Tool{Name: name,
				OutputSchema: json.RawMessage(output)},
				func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(whole), nil
				})))
		}
		w.limited(gateway.Options{}, map[string]int{"*": 3000, "whole": 0})
		w.client(client.Options{Era: era}, func(c *client.Client) {
			var offered json.RawMessage
			for tool, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
				switch tool.Name {
				case "up__rows":
					offered = tool.OutputSchema
				case "up__whole":
					assert.Equal(t, string(tool.OutputSchema), output)
				}
			}
			compiled, err := schema.Compile(offered)
			assert.NilError(t, err)
			raw, err := c.CallToolRaw(t.Context(), "up__rows", nil)
			assert.NilError(t, err)
			own := jsonscan.Member(raw, "structuredContent")
			assert.NilError(t, compiled.Validate(own))
			assert.Assert(t, len(own) <= 3000)
			assert.Equal(t, textsOf(t, raw)[0], string(own))
			var got struct {
				Rows []struct{ ID int }
				Note struct {
					ReadOn struct {
						Tool      string
						Arguments readOn
					}
				} `json:"stdwire/preview"`
			}
			assert.NilError(t, json.Unmarshal(own, &got))
			q := got.Note.ReadOn.Arguments
			assert.Equal(t, q, noted(t, raw))
			assert.Equal(t, q.Offset, len(got.Rows))
			texts, _ := readAll(t, c, q, 3000)
			ids := len(got.Rows)
			for _, text := range texts {
				var more []struct{ ID int }
				assert.NilError(t, json.Unmarshal([]byte(text), &more))
				for _, row := range more {
					assert.Equal(t, row.ID, ids)
					ids++
				}
			}
			assert.Equal(t, ids, 5000)

			var link string
			for block := range jsonscan.Elements(jsonscan.Member(raw, "content")) {
				if kind, _ := jsonscan.Text(jsonscan.Member(block, "type")); kind == "resource_link" {
					link, _ = jsonscan.Text(jsonscan.Member(block, "uri"))
				}
			}
			read, err := c.ReadResource(t.Context(), link)
			assert.NilError(t, err)
			assert.Equal(t, read.Contents[0].Text, whole)
			read, err = c.ReadResource(t.Context(),
				link+"?pointer=%2FstructuredContent%2Frows&offset=4998&limit=1")
			assert.NilError(t, err)
			assert.Equal(t, read.Contents[0].Text, `[{"id":4998}]`)
			assert.Equal(t, string(read.Contents[0].Meta["stdwire/range"]),
				`{"pointer":"/structuredContent/rows","unit":"elements","offset":4998,"count":1,"total":5000,"next":4999}`)
			for _, wrong := range []string{"?offset=9999", "?limit=0", "?x=1", "x",
				"?pointer=%2Fx"} {
				_, err = c.ReadResource(t.Context(), link+wrong)
				assert.Assert(t, err != nil, wrong)
			}

			raw, err = c.CallToolRaw(t.Context(), "up__whole", nil)
			assert.NilError(t, err)
			assert.Assert(t, cmp.Equal(string(raw), whole))
		})
	})
}

// What fits, and what is an error, is forwarded byte by byte.
func TestUncutResults(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		failed := `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"` +
			strings.Repeat("x", 9000) + `"}]}`
		w.add("failed", func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(failed), nil
		})
		w.addText("fits", strings.Repeat("\n", 2000)) // 4000 bytes of JSON
		w.limited(gateway.Options{}, map[string]int{"*": 2000})
		w.client(client.Options{Era: era}, func(c *client.Client) {
			raw, err := c.CallToolRaw(t.Context(), "up__failed", nil)
			assert.NilError(t, err)
			assert.Equal(t, string(raw), failed)
			raw, err = c.CallToolRaw(t.Context(), "up__fits", nil)
			assert.NilError(t, err)
			assert.Equal(t, string(raw), string(text("%s", strings.Repeat("\n", 2000))))
			raw, err = c.CallToolRaw(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
			assert.Equal(t, string(raw), result)
		})
	})
}

// The limit is the smaller one of the server's and the client's. Interceptors and the audit log get
// the whole result.
func TestResultLimitOfClient(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		content := strings.Repeat("0123456789\n", 2000)
		for _, name := range []string{"some", "off", "less"} {
			w.addText(name, content)
		}
		whole := len(text("%s", content))
		own, sizes := 5000, []int(nil)
		d := &auditWriter{room: -1}
		w.limited(gateway.Options{Audit: d, ResultDir: t.TempDir(),
			MaxResultText: func(ctx context.Context) int {
				assert.Check(t, server.ConnFrom(ctx) != nil)
				return own
			},
			Interceptors: []dispatch.Interceptor{after(
				func(_ *dispatch.Invocation, result json.RawMessage) (json.RawMessage, error) {
					sizes = append(sizes, len(result))
					return nil, nil
				})}}, map[string]int{"off": 0, "less": 3000})
		w.client(client.Options{Era: era}, func(c *client.Client) {
			for _, test := range []struct {
				tool string
				own  int
				want int
			}{{"some", 5000, 5000}, {"less", 5000, 3000}, {"less", 2000, 2000}, {"less", 0, 3000},
				{"off", 5000, whole}, {"some", 0, whole}} {
				own = test.own
				raw, err := c.CallToolRaw(t.Context(), "up__"+test.tool, nil)
				assert.NilError(t, err)
				size := utf8.RuneCountInString(strings.Join(textsOf(t, raw), ""))
				if test.want == whole {
					assert.Equal(t, len(raw), whole)
				} else {
					assert.Assert(t, size <= test.want && size > test.want-500, "%v: %d", test, size)
				}
				line := d.take(t)
				assert.Assert(t, cmp.Contains(line[0], fmt.Sprintf(`"result_size":%d`, whole)))
			}
		})
		assert.Equal(t, len(sizes), 6)
		for _, size := range sizes {
			assert.Equal(t, size, whole)
		}
	})
}

// A result is for its principal, and for an hour. Wrong arguments are explained.
func TestReadResultErrors(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.addText("log", strings.Repeat("0123456789\n", 1000))
		w.limited(gateway.Options{}, map[string]int{"log": 2000})
		ada := w.as("ada")
		raw, err := request(t, ada, "tools/call", `"name":"up__log"`)
		assert.NilError(t, err)
		var response struct{ Result json.RawMessage }
		if json.Unmarshal([]byte(raw), &response) != nil || response.Result == nil {
			response.Result = json.RawMessage(raw)
		}
		q := noted(t, response.Result)
		read := func(conn *server.Conn, arguments string) string {
			t.Helper()
			text, err := request(t, conn, "tools/call",
				`"name":"read_result","arguments":`+arguments)
			assert.NilError(t, err)
			return text
		}
		byID := `{"id":"` + q.ID + `"}`
		assert.Assert(t, cmp.Contains(read(ada, byID), "0123456789"))
		unknown := read(ada, `{"id":"x"}`)
		assert.Assert(t, cmp.Contains(unknown, "there is no result with this id"))
		for _, other := range []string{"", "bob"} {
			assert.Equal(t, read(w.as(other), byID), unknown)
		}
		for arguments, want := range map[string]string{
			`{}`: `required property \"id\"`, `{"id":"x","offset":-1}`: "offset",
			`{"id":"x","y":1}`:                           "y",
			`{"id":"` + q.ID + `","pointer":"/x"}`:       "there is no value at this pointer",
			`{"id":"` + q.ID + `","offset":5000}`:        "offset must be from 0 to 999",
			`{"id":"` + q.ID + `","limit":0,"offset":1}`: "limit"} {
			got := read(ada, arguments)
			assert.Assert(t, cmp.Contains(got, want))
			assert.Assert(t, cmp.Contains(got, `"isError":true`))
		}
		time.Sleep(time.Hour)
		assert.Equal(t, read(ada, byID), unknown)
	})
}

// The tool is offered while results may be shortened. Without prefixes it has precedence.
func TestReadResultOffered(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.client(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			s := w.server("up", w.era)
			s.MaxResultText = map[string]int{"*": 2000}
			assert.NilError(t, w.gateway.Add(s))
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"read_result", "up__verbatim"})
			s.MaxResultText = map[string]int{"*": 0}
			assert.NilError(t, w.gateway.Add(s))
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
		})
		w.addText("read_result", "mine")
		w.reopen(gateway.Options{NoPrefix: true}, w.server("up", w.era))
		w.client(client.Options{}, func(c *client.Client) {
			raw, err := c.CallToolRaw(t.Context(), "read_result", nil)
			assert.NilError(t, err)
			assert.Equal(t, textsOf(t, raw)[0], "mine")
			s := w.server("up", w.era)
			s.MaxResultText = map[string]int{"*": 2000}
			assert.NilError(t, w.gateway.Add(s))
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"read_result", "verbatim"})
			assert.DeepEqual(t, w.gateway.Withheld()["up"], []gateway.WithheldItem{{
				Kind: mcp.KindTool, Name: "read_result", Reason: gateway.ReasonCollision,
				Detail: "(gateway)"}})
			raw, err = c.CallToolRaw(t.Context(), "read_result", map[string]any{"id": "x"})
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(string(raw), "there is no result with this id"))
			assert.Assert(t, w.gateway.Remove("up"))
			assert.DeepEqual(t, w.names(c), []string(nil))
		})
	})
}

// A client that finds tools by a search is shown the tool that reads on.
func TestReadResultWithSearch(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.limited(gateway.Options{}, map[string]int{"*": 2000})
		s := server.Options{ToolView: func(string) server.ToolView {
			return server.ToolView{Search: true}
		}}.New(server.Info{Name: "s", Version: "1"}, nil)
		s.Integration().Declare()
		w.gateway.Offer(s, "up")
		time.Sleep(5 * time.Second)
		raw, err := request(t, s.Integration().Stateless("", mcp.Latest), "tools/list", "")
		assert.NilError(t, err)
		assert.Assert(t, cmp.Contains(raw, `"read_result"`))
		assert.Assert(t, !strings.Contains(raw, `"up__verbatim"`))
	})
}

// What tools of resources read is shortened, too.
func TestResultsOfAsTools(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		assert.NilError(t, w.up.AddResource(server.Resource{
			Resource: mcp.Resource{URI: "mem://long", Name: "long"},
			Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
					{URI: uri, Text: strings.Repeat("0123456789\n", 1000)}}}, nil
			}}))
		s := w.server("up", w.era)
		s.AsTools, s.MaxResultText = true, map[string]int{"*": 2000}
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{}, func(c *client.Client) {
			raw, err := c.CallToolRaw(t.Context(), "up__read_resource",
				map[string]string{"uri": "mem://long"})
			assert.NilError(t, err)
			assert.Assert(t, len(raw) < 5000, "%d bytes", len(raw))
			assert.Assert(t, cmp.Contains(string(raw), "read_result"))
		})
	})
}
