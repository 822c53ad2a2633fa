package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A scripted is a legacy server with fixed results, valid or not.
type scripted map[string]string // results by method

// server returns the scripted server as a server of the gateway.
func (s scripted) server(id string, serving *sync.WaitGroup) gateway.Upstream {
	return gateway.Upstream{Server: host.Server{ID: id,
		Options: client.Options{Era: mcp.Legacy, Logger: quiet},
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			clientEnd, serverEnd := net.Pipe()
			serving.Go(func() { s.serve(serverEnd) })
			return o.Connect(ctx, client.Stream(clientEnd))
		}}}
}

func (s scripted) serve(stream io.ReadWriteCloser) { _ = s.peer(stream).Wait() }

func (s scripted) peer(stream io.ReadWriteCloser) *rpc.Peer {
	return rpc.Options{Handler: func(_ context.Context, r *rpc.Request) (any, error) {
		if r.Method == mcp.MethodInitialize {
			return json.RawMessage(
					`{"protocolVersion":"2025-11-25","serverInfo":{"name":"scripted","version":"1"},"capabilities":{"tools":{},"prompts":{},"resources":{"subscribe":true}}}`),
				nil
		}
		if result, ok := s[r.Method]; ok {
			return json.RawMessage(result), nil
		}
		return nil, rpc.ErrMethodNotFound
	}}.New(stream)
}

// An invalid definition is repaired if its meaning is clear and withheld otherwise. Other
// definitions are offered.
func TestInvalidDefinitions(t *testing.T) {
	invalid := scripted{
		mcp.MethodListTools: `{"tools":[
			{"name":"a_empty","inputSchema":{},"x":1.50},
			{"name":"b_none"},
			{"name":"c_null","inputSchema":null,"description":null,"title":null,"annotations":null,"_meta":null,"outputSchema":null,"execution":null,"icons":null,"x":null},
			{"name":"d_required","inputSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":null}},
			{"name":"e_properties","inputSchema":{"type":"object","properties":null,"$schema":null},"outputSchema":{"type":"object","required":null}},
			{"name":"f_hints","inputSchema":{"type":"object"},"annotations":{"title":null,"readOnlyHint":true,"destructiveHint":null,"x":null}},
			{"name":"g_whole","inputSchema":{"type":"object","default":null},"x":1.0},
			{"name":"w_array","inputSchema":{"type":"array"}},
			{"name":"w_list","inputSchema":[]},
			{"name":"w_text","inputSchema":{"type":"object","required":"a"}},
			{"name":"w_names","inputSchema":{"type":"object","required":[1]}},
			{"name":"w_property","inputSchema":{"type":"object","properties":{"a":null}}},
			{"name":"w_properties","inputSchema":{"type":"object","properties":[]}},
			{"name":"w_output","inputSchema":{"type":"object"},"outputSchema":"text"},
			{"name":"w_hint","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}},
			{"name":7,"inputSchema":{"type":"object"}},
			{"inputSchema":{"type":"object"}},
			"tool"]}`,
		mcp.MethodListPrompts: `{"prompts":[{"name":"a","description":null,"arguments":[{"name":"x","description":null,"required":null}]},{"name":"b","arguments":null},
			{"name":"w","arguments":{}},{"name":"g"}]}`,
		mcp.MethodListResources:         `{"resources":[{"uri":"mem://a","name":"a","size":null,"mimeType":null,"annotations":{"priority":null}},{"uri":7,"name":"w"},{"uri":"mem://g","name":"g"}]}`,
		mcp.MethodListResourceTemplates: `{"resourceTemplates":[{"uriTemplate":"mem://{a}","name":"a","mimeType":null},{"uriTemplate":"mem://{w","name":"w"},{"uriTemplate":null,"name":"w"}]}`,
	}
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.gateway.Close()
		var log lockedbuffer.Buffer
		pins, err := pin.Open(filepath.Join(t.TempDir(), "mcp.pins"))
		assert.NilError(t, err)
		w.gateway = gateway.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			NoDescriptionPrefix: true, PinFile: pins.Path()}.New(w.downstream)
		assert.NilError(t, w.gateway.Add(w.server("up", mcp.Modern)))
		assert.NilError(t, w.gateway.Add(invalid.server("odd", &w.serving)))
		w.gateway.Settle(t.Context())
		want := []string{
			`{"name":"odd__a_empty","inputSchema":{"type":"object","properties":{}},"x":1.50}`,
			`{"name":"odd__b_none","inputSchema":{"type":"object","properties":{}}}`,
			`{"name":"odd__c_null","x":null,"inputSchema":{"type":"object","properties":{}}}`,
			`{"name":"odd__d_required","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
			`{"name":"odd__e_properties","inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object"}}`,
			`{"name":"odd__f_hints","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true,"x":null}}`,
			`{"name":"odd__g_whole","inputSchema":{"type":"object","default":null,"properties":{}},"x":1.0}`,
			`{"name":"up__verbatim","description":"Does it.","inputSchema":{"type":"object","properties":{}}}`,
			`{"name":"odd__a","arguments":[{"name":"x"}]}`, `{"name":"odd__b"}`,
			`{"name":"odd__g"}`,
			`{"uri":"mem://a","name":"a","annotations":{}}`, `{"uri":"mem://g","name":"g"}`,
			`{"uriTemplate":"mem://{a}","name":"a"}`,
		}
		for _, era := range eras {
			w.client(client.Options{Era: era},
				func(c *client.Client) { assert.DeepEqual(t, w.texts(c), want) })
		}
		for _, name := range []string{"w_array", "w_list", "w_text", "w_names", "w_property",
			"w_properties", "w_output", "w_hint", "w", "mem://{w"} {
			assert.Assert(t, strings.Contains(log.String(), "name="+name+" "), "%s: %s", name,
				log.String())
		}
		said := strings.Count(log.String(), "level=WARN")
		assert.Equal(t, said, 8+3+1+1+2, log.String())
		assert.NilError(t, w.gateway.Manager().Restart("odd"))
		time.Sleep(5 * time.Second)
		assert.Equal(t, strings.Count(log.String(), "level=WARN"), said, "it is said once: %s",
			log.String())
		// Pins cover the definition of the server, not the repaired one.
		assert.Assert(t, pinnedOf(t, pins, "odd", `{"name":"a_empty","inputSchema":{},"x":1.50}`))
	})
}

// pinnedOf reports whether a pins has a pin for this definition of a server's tool.
func pinnedOf(t *testing.T, pins *pin.File, id, definition string) bool {
	t.Helper()
	var o client.Options
	gateway.DeclareCapabilities(&o)
	server, err := pin.NewServer(id, "", "scripted", o.Capabilities())
	assert.NilError(t, err)
	report, err := pins.Compare(server, mcp.KindTool,
		[]json.RawMessage{json.RawMessage(definition)})
	assert.NilError(t, err)
	return len(report.Verdicts) == 1 && report.Verdicts[0].State == pin.StateSame
}

// pinServer returns the identity of a server in the file of pins.
func pinServer(id, source string, c *client.Client) (pin.Server, error) {
	var o client.Options
	gateway.DeclareCapabilities(&o)
	return pin.NewServer(id, source, c.ServerInfo().Name, o.Capabilities())
}
