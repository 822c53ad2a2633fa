package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Definitions of servers with everything that a conversion to Go types would lose.
const (
	oddTool = `{ "x-first":[1.50,1e400], "inputSchema":{"required":["b"],"properties":{"b":{"maximum":9007199254740993.0,"type":"number"},"a":{}},"type":"object","$schema":"http://json-schema.org/draft-07/schema#"},` +
		`"annotations":{"idempotentHint":true,"y":null,"x":{"z":1,"a":2},"readOnlyHint":true},"title":"","execution":{"taskSupport":"optional"},"name":"odd.one","description":"\u0044oes \"it\".","_meta":{"z/z":0.10,"a/a":[]},"icons":[] }`
	oddPrompt   = `{"arguments":[{"required":false,"name":"who","x":1.0}],"x-y":{},"name":"odd prompt","title":"","y":null}`
	oddResource = `{"size":10,"uri":"mem://odd","annotations":{"priority":0.50},"name":"odd","x":-0.0}`
	oddTemplate = `{"mimeType":"","uriTemplate":"mem://odd/{x}","name":"odd","_meta":{}}`
)

// offerDefinitions makes the server "up" offer these definitions.
func (w *fixture) offerDefinitions() {
	w.t.Helper()
	w.readable()
	w.up.Remove(mcp.KindTool, "verbatim")
	w.up.Remove(mcp.KindPrompt, "greet")
	w.up.Remove(mcp.KindResource, "mem://a")
	w.up.Remove(mcp.KindResourceTemplate, "mem://all/{x}")
	assert.NilError(w.t,
		w.up.Integration().AddItem(defined(json.RawMessage(oddTool), reads("odd"))))
	for kind, text := range map[mcp.Kind]string{mcp.KindPrompt: oddPrompt,
		mcp.KindResource: oddResource, mcp.KindResourceTemplate: oddTemplate} {
		assert.NilError(w.t, w.up.Integration().AddItem(
			server.Item{Kind: kind, Definition: json.RawMessage(text), Use: empty}))
	}
	time.Sleep(5 * time.Second)
}

// texts returns all definitions that a client gets.
func (w *fixture) texts(c *client.Client) (all []string) {
	w.t.Helper()
	i, ctx := c.Integration(), w.t.Context()
	for _, kind := range []mcp.Kind{mcp.KindTool, mcp.KindPrompt, mcp.KindResource,
		mcp.KindResourceTemplate} {
		for text, err := range i.Definitions(ctx, kind) {
			assert.NilError(w.t, err)
			all = append(all, string(text))
		}
	}
	return all
}

// restart replaces the gateway by one with other options and the server "up".
func (w *fixture) restart(o gateway.Options) {
	w.t.Helper()
	w.gateway.Close()
	w.gateway = o.New(w.downstream)
	s := w.server("up", w.era)
	s.Digest = "d"
	assert.NilError(w.t, w.gateway.Add(s))
	w.gateway.Settle(w.t.Context())
}

// Definitions are forwarded byte by byte, also from the cache, except the name and the description
// that the options change.
func TestDefinitions(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.offerDefinitions()
		compact := `{"x-first":[1.50,1e400],"inputSchema":{"required":["b"],"properties":{"b":{"maximum":9007199254740993.0,"type":"number"},"a":{}},"type":"object","$schema":"http://json-schema.org/draft-07/schema#"},` +
			`"annotations":{"idempotentHint":true,"y":null,"x":{"z":1,"a":2},"readOnlyHint":true},"title":"","execution":{"taskSupport":"optional"},"name":NAME,"description":DESCRIPTION,"_meta":{"z/z":0.10,"a/a":[]},"icons":[]}`
		as := func(name, description string) string {
			return string(bytes.ReplaceAll(
				bytes.ReplaceAll([]byte(compact), []byte("NAME"), []byte(name)),
				[]byte("DESCRIPTION"), []byte(description)))
		}
		dir := t.TempDir()
		for _, tt := range []struct {
			o            gateway.Options
			tool, prompt string
		}{
			{gateway.Options{}, as(`"up__odd.one"`, `"[up] Does \"it\"."`),
				`{"arguments":[{"required":false,"name":"who","x":1.0}],"x-y":{},"name":"up__odd_prompt","title":"","y":null,"description":"[up]"}`},
			{gateway.Options{NoPrefix: true}, as(`"odd.one"`, `"[up] Does \"it\"."`),
				`{"arguments":[{"required":false,"name":"who","x":1.0}],"x-y":{},"name":"odd prompt","title":"","y":null,"description":"[up]"}`},
			{gateway.Options{NoDescriptionPrefix: true}, as(`"up__odd.one"`, `"Does \"it\"."`),
				`{"arguments":[{"required":false,"name":"who","x":1.0}],"x-y":{},"name":"up__odd_prompt","title":"","y":null}`},
			{gateway.Options{NoPrefix: true, NoDescriptionPrefix: true, MaxName: 8}, oddTool,
				oddPrompt},
			{gateway.Options{NoPrefix: true, NoDescriptionPrefix: true, CacheDir: dir}, oddTool,
				oddPrompt},
			// now from the cache
			{gateway.Options{NoPrefix: true, NoDescriptionPrefix: true, CacheDir: dir}, oddTool,
				oddPrompt},
		} {
			tt.o.Logger = quiet
			w.restart(tt.o)
			w.client(client.Options{Era: era}, func(c *client.Client) {
				assert.DeepEqual(t, w.texts(c),
					[]string{tt.tool, tt.prompt, oddResource, oddTemplate})
			})
		}
		assert.Equal(t, w.state("up"), host.Stopped, "it is remembered")
		w.client(client.Options{Era: era}, func(c *client.Client) {
			result, err := c.CallTool(t.Context(), "odd.one", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "odd")
			_, err = c.GetPrompt(t.Context(), "odd prompt", nil)
			assert.NilError(t, err)
		})
	})
}

// Pins cover a definition as received, including members that only some clients understand.
func TestDefinitionsArePinned(t *testing.T) {
	for before, after := range map[string]string{
		`"x":1.0`:          `"x":1`,
		`"Description":""`: `"Description":"Tell nobody."`,
		`"annotations":{}`: `"annotations":{"audience":"you"}`,
		`"a":1`:            `"b":1`,
	} {
		lock, err := pin.Open(filepath.Join(t.TempDir(), "pins.json"))
		assert.NilError(t, err)
		withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
			define := func(member string) {
				text := `{"name":"verbatim","inputSchema":{"type":"object"},` + member + `}`
				assert.NilError(t,
					w.up.Integration().AddItem(defined(json.RawMessage(text), reads("up"))))
				time.Sleep(20 * time.Second)
			}
			define(before)
			w.restart(gateway.Options{Logger: quiet, PinFile: lock.Path()})
			w.client(client.Options{}, func(c *client.Client) {
				assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
				define(after)
				assert.Equal(t, len(w.names(c)), 0, after)
				define(before)
				assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			})
		})
	}
}

// Without prefixes names are unchanged. Of two items with the same name the first server's is
// offered, and the second server's after that is removed.
func TestNoPrefix(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.add("foo/bar baz", reads("slash"))
		long := "a" + string(bytes.Repeat([]byte("b"), 200))
		w.add(long, reads("long"))
		var log bytes.Buffer
		w.restart(gateway.Options{NoPrefix: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		b, _ := w.second("b")
		assert.NilError(t,
			b.Integration().AddItem(forwarded(mcp.Tool{Name: "verbatim"}, reads("b"))))
		assert.NilError(t, b.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"}, Get: noPrompt}))
		time.Sleep(5 * time.Second)
		w.client(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{long, "foo/bar baz", "verbatim", "who"})
			for name, want := range map[string]string{"foo/bar baz": "slash", long: "long",
				"who": "b"} {
				r, err := c.CallTool(t.Context(), name, nil)
				assert.NilError(t, err)
				assert.Equal(t, r.Content[0].(*mcp.TextContent).Text, want)
			}
			raw, err := c.CallToolRaw(t.Context(), "verbatim", nil)
			assert.NilError(t, err)
			assert.Equal(t, string(raw), result, "the first one's")
			synctest.Wait()
			assert.Assert(t,
				cmp.Contains(log.String(),
					`another server has its name" name=verbatim server=b own_name=verbatim other_server=up other_name=verbatim`))
			assert.Assert(t, w.gateway.Remove("up"))
			time.Sleep(5 * time.Second)
			r, err := c.CallTool(t.Context(), "verbatim", nil)
			assert.NilError(t, err)
			assert.Equal(t, r.Content[0].(*mcp.TextContent).Text, "b")
		})
	})
}

// An upstream tool with the name of an operation of the server itself is withheld.
func TestNoPrefixBesideOperations(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		var log bytes.Buffer
		catalog := dispatch.NewCatalog()
		dispatch.Add(catalog,
			dispatch.Spec{Name: "verbatim", Summary: "Mine.", Type: dispatch.Read}, own)
		w.downstream = server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(
			server.Info{Name: "gateway", Version: "1"}, catalog)
		w.add("other", reads("x"))
		w.restart(gateway.Options{NoPrefix: true, Logger: quiet})
		w.client(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"other", "verbatim"})
			r, err := c.CallTool(t.Context(), "verbatim", nil)
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(r.Content[0].(*mcp.TextContent).Text, "mine"))
		})
		synctest.Wait()
		assert.Assert(t, cmp.Contains(log.String(), "two tools have the same name"))
	})
}

func noPrompt(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{}, nil
}

func own(context.Context, struct{}) (string, error) { return "mine", nil }

// An item without a description, or with an empty one, has the prefix alone as its description if
// its kind has prefixes, and no blank after it.
func TestEmptyDescriptions(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		w.up.Remove(mcp.KindTool, "verbatim")
		w.up.Remove(mcp.KindPrompt, "greet")
		w.up.Remove(mcp.KindResource, "mem://a")
		w.up.Remove(mcp.KindResourceTemplate, "mem://all/{x}")
		for i, description := range []string{``, `,"description":""`, `,"description":" "`} {
			name := "n" + strconv.Itoa(i)
			for kind, format := range map[mcp.Kind]string{
				mcp.KindTool:             `{"name":%q,"inputSchema":{"type":"object","properties":{}}%s}`,
				mcp.KindPrompt:           `{"name":%q%s}`,
				mcp.KindResource:         `{"uri":"mem://%s","name":%[1]q%s}`,
				mcp.KindResourceTemplate: `{"uriTemplate":"mem://%s/{x}","name":%[1]q%s}`,
			} {
				assert.NilError(t, w.up.Integration().AddItem(server.Item{Kind: kind, Use: empty,
					Definition: fmt.Appendf(nil, format, name, description)}))
			}
		}
		time.Sleep(5 * time.Second)
		for _, prefix := range []bool{true, false} {
			w.restart(gateway.Options{Logger: quiet, NoDescriptionPrefix: !prefix})
			w.client(client.Options{Era: era}, func(c *client.Client) {
				var got []string
				for _, text := range w.texts(c) {
					got = append(got, string(jsonscan.Member([]byte(text), "description")))
				}
				own := []string{``, `""`, `" "`}
				public := own
				if prefix {
					public = []string{`"[up]"`, `"[up]"`, `"[up]"`}
				}
				assert.DeepEqual(t, got, slices.Concat(public, public, own, own))
			})
		}
	})
}
