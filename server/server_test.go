package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

type query struct {
	City string `json:"city" doc:"City to look up."`
}

type report struct {
	Text string `json:"text"`
}

// catalog has one operation for each possible outcome of an operation.
func catalog() *dispatch.Catalog {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "weather.get", Title: "Weather",
		Summary: "Current weather.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(_ context.Context, q query) (report, error) {
			switch q.City {
			case "Atlantis":
				return report{}, dispatch.Errorf(dispatch.NotFound, "there is no city %q", q.City)
			case "Mordor":
				return report{}, errors.New("secret: the eye is open")
			case "Pompeii":
				panic("ashes")
			}
			return report{"sunny in " + q.City}, nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "work", Summary: "Works in steps.", Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (report, error) {
			dispatch.Logger(ctx).With("unit", 7).WithGroup("step").Info("begun", "n", 1)
			dispatch.Logger(ctx).Debug("detail")
			dispatch.Progress(ctx, 1, 2, "half")
			dispatch.Progress(ctx, 1, 2, "does not grow")
			dispatch.Progress(ctx, 2, 2, "")
			return report{"done"}, nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "block", Summary: "Waits to be cancelled.",
		Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (report, error) {
			<-ctx.Done()
			return report{}, context.Cause(ctx)
		})
	dispatch.Add(c, dispatch.Spec{Name: "file.delete", Summary: "Deletes.",
		Type: dispatch.Destructive, Idempotent: true, OpenWorld: true},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	return c
}

var quiet = server.Options{Logger: slog.New(slog.DiscardHandler)}

// A line is the client's end of a server's stream. It writes and reads lines.
type line struct {
	t      *testing.T
	stream net.Conn
	in     *bufio.Reader
	ended  chan error
}

func dial(t *testing.T, o server.Options, c *dispatch.Catalog) *line {
	t.Helper()
	near, far := net.Pipe()
	l := &line{t, near, bufio.NewReader(near), make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { l.ended <- o.New(server.Info{Name: "test", Version: "1.2"}, c).Serve(ctx, far) }()
	t.Cleanup(func() {
		cancel()
		near.Close()
		<-l.ended
	})
	return l
}

func (l *line) send(format string, args ...any) {
	l.t.Helper()
	_, err := fmt.Fprintf(l.stream, format+"\n", args...)
	assert.NilError(l.t, err)
}

func (l *line) read() string {
	l.t.Helper()
	text, err := l.in.ReadString('\n')
	assert.NilError(l.t, err)
	return strings.TrimSuffix(text, "\n")
}

// ask sends one message and returns the next message of the server.
func (l *line) ask(format string, args ...any) string {
	l.t.Helper()
	l.send(format, args...)
	return l.read()
}

func (l *line) initialize(revision string) {
	l.t.Helper()
	l.ask(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		revision)
	l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const (
	modern  = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	endOfIt = `,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.2"}}}`
)

// The exact messages on a new stream, and the exact responses.
func TestWire(t *testing.T) {
	for name, tc := range map[string]struct {
		legacy   string // a revision to initialize with first, or ""
		in, want string
	}{
		"discover": {"", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` +
			modern + `}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"` +
				endOfIt + `}`},
		"discover without params": {"", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] is required and must be a string"}}`},
		"modern without capabilities": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta[\"io.modelcontextprotocol/clientCapabilities\"] is required and must be an object"}}`},
		"modern without version": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] is required and must be a string"}}`},
		"unsupported version": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"v999"}}}`},
		"legacy version in _meta": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`},
		"neither era": {"", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: send initialize first, or set \"io.modelcontextprotocol/protocolVersion\" and \"io.modelcontextprotocol/clientCapabilities\" in the _meta of each request"}}`},
		"initialize": {"",
			`{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":9007199254740993,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1.2"}}}`},
		"initialize with an unknown version": {"",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1.2"}}}`},
		"initialize with a modern version": {"",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1.2"}}}`},
		"initialize without a version": {"",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: protocolVersion is required and must be a string"}}`},
		"ping before initialize": {"", `{"jsonrpc":"2.0","id":"","method":"ping"}`,
			`{"jsonrpc":"2.0","id":"","result":{}}`},
		"ping in the modern era": {"",
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{` + modern + `}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: ping is not part of revision 2026-07-28"}}`},
		"initialize in the modern era": {"",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{` + modern + `}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: initialize is not part of revision 2026-07-28"}}`},
		"unknown method": {"2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: no/such"}}`},
		"listen in the legacy era": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: subscriptions/listen"}}`},
		"null id": {"", `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id of a request must not be null"}}`},
		"bad json": {"", `{"jsonrpc":`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid JSON at byte 11: a value is missing"}}`},
		"batch in 2025-06-18": {"2025-06-18", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send the messages one by one"}}`},
		"batch in 2025-03-26": {"2025-03-26",
			`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":{}}]`},
		"params by position": {"", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: MCP requires an object"}}`},
		"a param twice": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","name":"block"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: \"name\" occurs twice"}}`},
		"a param twice, once with an escape": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","\u006eame":"block"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: \"name\" occurs twice"}}`},
		"a param with an escape": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"\u006eame":"nope"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: nope"}}`},
		"a member of _meta twice, once with an escape": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + modern +
				`,"progressToken":1,"progress\u0054oken":2}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta has \"progressToken\" twice"}}`},
		"a param in other case": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"work"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: "}}`},
		"_meta twice the same": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + modern + `,` +
				modern + `}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta has \"io.modelcontextprotocol/protocolVersion\" twice"}}`},
		"progress token of a wrong type": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: the progress token must be a string or an integer"}}`},

		"call, legacy": {"2025-06-18",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":"Oslo"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"success":true,"data":{"text":"sunny in Oslo"},"error":null},"content":[{"type":"text","text":"{\"success\":true,\"data\":{\"text\":\"sunny in Oslo\"},\"error\":null}"}],"isError":false}}`},
		"call, before structured content": {"2025-03-26",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":"Oslo"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"success\":true,\"data\":{\"text\":\"sunny in Oslo\"},\"error\":null}"}],"isError":false}}`},
		"call, modern": {"", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` +
			modern + `},"name":"weather_get","arguments":{"city":"Oslo"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"success":true,"data":{"text":"sunny in Oslo"},"error":null},"content":[{"type":"text","text":"{\"success\":true,\"data\":{\"text\":\"sunny in Oslo\"},\"error\":null}"}],"isError":false` +
				endOfIt + `}`},
		"modern call after initialize": {"2025-11-25",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modern +
				`},"name":"weather_get","arguments":{"city":"Oslo"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"success":true,"data":{"text":"sunny in Oslo"},"error":null},"content":[{"type":"text","text":"{\"success\":true,\"data\":{\"text\":\"sunny in Oslo\"},\"error\":null}"}],"isError":false` +
				endOfIt + `}`},
		"unknown tool": {"2025-06-18",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather.get"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: weather.get"}}`},
		"tool name of a wrong type": {"2025-06-18",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: name must be a string"}}`},
		"unknown log level": {"",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modern +
				`,"io.modelcontextprotocol/logLevel":"loud"},"name":"work"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: \"loud\" is not a log level; it is one of debug, info, notice, warning, error, critical, alert, emergency"}}`},
		"foreign cursor": {"2025-06-18",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"!"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: cursor \"!\" was not made by this server"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := dial(t, quiet, catalog())
			if tc.legacy != "" {
				l.initialize(tc.legacy)
			}
			assert.Equal(t, l.ask("%s", tc.in), tc.want)
		})
	}
}

// The failure of an operation is part of the result. Errors without a code do not reveal their
// text.
func TestFailuresAreResults(t *testing.T) {
	l := dial(t, quiet, catalog())
	l.initialize("2025-11-25")
	for city, want := range map[string]string{
		"Atlantis": `"error":{"code":"not_found","message":"there is no city \"Atlantis\"","details":null,"recoverable":true}`,
		"Mordor":   `"error":{"code":"internal_error"`,
		"Pompeii":  `"error":{"code":"internal_error"`,
	} {
		got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","arguments":{"city":%q}}}`,
			city)
		assert.Assert(t, strings.Contains(got, want) &&
			strings.Contains(got, `"isError":true`), got)
		assert.Assert(t, !strings.Contains(got, "secret") && !strings.Contains(got, "ashes"), got)
	}
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","arguments":{}}}`)
	assert.Assert(t, strings.Contains(got, `"code":"missing_param"`), got)
	got = l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","arguments":[]}}`)
	assert.Assert(t, strings.Contains(got, `"code":"invalid_input"`), got)
}

// The pages of a list contain all tools in the order of their names, even if tools are added and
// removed between pages.
func TestPagination(t *testing.T) {
	o := quiet
	o.PageSize = 2
	c := catalog()
	l := dial(t, o, c)
	l.initialize("2025-11-25")
	type page struct {
		Result struct {
			Tools []struct {
				Name        string
				Description string
				Annotations map[string]bool
			}
			NextCursor *string
		}
	}
	var first, second page
	assert.NilError(t,
		json.Unmarshal([]byte(l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), &first))
	assert.Equal(t, len(first.Result.Tools), 2)
	assert.Equal(t, first.Result.Tools[0].Name, "block")
	assert.Equal(t, first.Result.Tools[1].Name, "file_delete")
	assert.DeepEqual(t, first.Result.Tools[1].Annotations,
		map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true,
			"openWorldHint": true})
	assert.DeepEqual(t, first.Result.Tools[0].Annotations,
		map[string]bool{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
			"openWorldHint": false})

	c.Remove("file.delete") // the tool of the cursor
	l.read()                // list_changed
	assert.NilError(t,
		json.Unmarshal([]byte(
			l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%q}}`,
				*first.Result.NextCursor)), &second))
	assert.Equal(t, len(second.Result.Tools), 2)
	assert.Equal(t, second.Result.Tools[0].Name, "weather_get")
	assert.Equal(t, second.Result.Tools[0].Description, "Current weather.\n\nErrors: not_found")
	assert.Equal(t, second.Result.Tools[1].Name, "work")
	assert.Assert(t, second.Result.NextCursor == nil)
}

func TestProgressAndLogging(t *testing.T) {
	const (
		log     = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"work","data":{"message":"begun","step":{"n":1},"unit":7}}}`
		half    = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\u0062","progress":1,"total":2,"message":"half"}}`
		whole   = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\u0062","progress":2,"total":2}}`
		isThere = `"text":"done"`
	)
	l := dial(t, quiet, catalog())
	// A modern client sets the level in its request.
	assert.Equal(t, l.ask(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{`+modern+
			`,"progressToken":"a\u0062","io.modelcontextprotocol/logLevel":"info"}}}`), log)
	assert.Equal(t, l.read(), half)
	assert.Equal(t, l.read(), whole)
	assert.Assert(t, strings.Contains(l.read(), isThere))
	// A request without a level gets no log messages.
	assert.Assert(t,
		strings.Contains(
			l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{`+
				modern+`}}}`), isThere))

	l.initialize("2025-11-25")
	assert.Assert(t,
		strings.Contains(
			l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work"}}`),
			isThere))
	assert.Equal(t, l.ask(
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`),
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
	assert.Equal(t, l.ask(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work"}}`), log)
	assert.Assert(t, strings.Contains(l.read(), isThere))
}

// A cancelled request gets no response, and the connection continues.
func TestCancellation(t *testing.T) {
	l := dial(t, quiet, catalog())
	l.initialize("2025-11-25")
	l.send(`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"block"}}`)
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b","reason":"enough"}}`)
	assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`),
		`{"jsonrpc":"2.0","id":2,"result":{}}`)
}

func addTool(c *dispatch.Catalog, name string) {
	dispatch.Add(c, dispatch.Spec{Name: name, Summary: "New.", Type: dispatch.Read},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
}

func TestSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := catalog()
		l := dial(t, quiet, c)
		ack := func(id string) string {
			return l.ask(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"_meta":{`+
				modern+`},"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}`,
				id)
		}
		assert.Equal(t, ack("1"),
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`)
		assert.Equal(t, ack(`"two"`),
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"two"}}}`)
		synctest.Wait()

		// Many changes become one notification for each subscription.
		for i := range 50 {
			addTool(c, fmt.Sprintf("new.t%d", i))
		}
		got := map[string]bool{l.read(): true, l.read(): true}
		assert.DeepEqual(t, got, map[string]bool{
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`:     true,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"two"}}}`: true,
		})

		// If one subscription is cancelled, the other continues. Cancelling an unknown request has
		// no effect.
		l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		addTool(c, "new.last")
		assert.Equal(t, l.read(),
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"two"}}}`)
		time.Sleep(time.Second) // of the bubble's clock: enough for any other message to arrive
		assert.Equal(t, l.ask(
			`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{}}`)[:28],
			`{"jsonrpc":"2.0","id":2,"err`)
	})
}

func TestSubscriptionsAreBounded(t *testing.T) {
	o := quiet
	o.MaxSubscriptions = 1
	l := dial(t, o, catalog())
	const listen = `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"_meta":{` +
		modern + `},"notifications":{}}}`
	assert.Equal(t, l.ask(listen, 1),
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`)
	assert.Equal(t, l.ask(listen, 2),
		`{"jsonrpc":"2.0","id":2,"error":{"code":-31999,"message":"1 subscriptions are open already; cancel one first"}}`)
}

// A legacy client is notified of changes once it has sent initialized, with one notification for a
// burst.
func TestLegacyListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := catalog()
		l := dial(t, quiet, c)
		l.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		addTool(c, "new.early")
		time.Sleep(time.Second)
		assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`),
			`{"jsonrpc":"2.0","id":2,"result":{}}`)
		l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		for i := range 50 {
			addTool(c, fmt.Sprintf("new.t%d", i))
		}
		assert.Equal(t, l.read(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		time.Sleep(time.Second)
		assert.Equal(t, l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`),
			`{"jsonrpc":"2.0","id":2,"result":{}}`)
	})
}

// A client that does not read gets one notification when it reads again, however many changes there
// were, and delays no other client.
func TestSlowClientDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := catalog()
		s := quiet.New(server.Info{Name: "test", Version: "1.2"}, c)
		var clients [2]*line
		for i := range clients {
			near, far := net.Pipe()
			clients[i] = &line{t, near, bufio.NewReader(near), make(chan error, 1)}
			go func() { clients[i].ended <- s.Serve(context.Background(), far) }()
			clients[i].initialize("2025-11-25")
		}
		slow, quick := clients[0], clients[1]
		for i := range 100 {
			addTool(c, fmt.Sprintf("new.t%d", i))
			assert.Equal(t, quick.read(),
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		go slow.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		news := 0
		for slow.read() != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			news++
		}
		// the first notification is being sent when the second change happens
		assert.Assert(t, news == 1 || news == 2, "%d pieces of news", news)
		for _, l := range clients {
			l.stream.Close()
			<-l.ended
		}
	})
}

func TestServeEnds(t *testing.T) {
	t.Run("when the client closes, answers first", func(t *testing.T) {
		c1, c2 := io.Pipe()
		out1, out2 := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- quiet.New(server.Info{Name: "test", Version: "1"},
				catalog()).Serve(context.Background(), stream{c1, out2})
		}()
		go func() {
			fmt.Fprintln(c2, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			c2.Close()
		}()
		got, err := bufio.NewReader(out1).ReadString('\n')
		assert.NilError(t, err)
		assert.Equal(t, got, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
		assert.NilError(t, <-ended)
	})
	t.Run("when its context does, subscriptions gracefully", func(t *testing.T) {
		near, far := net.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- quiet.New(server.Info{Name: "test", Version: "1"}, catalog()).Serve(ctx, far)
		}()
		l := &line{t, near, bufio.NewReader(near), ended}
		l.ask(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{` +
			modern + `},"notifications":{}}}`)
		cancel()
		assert.Equal(t, l.read(),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the server is shutting down"}}`)
		assert.Equal(t, l.read(),
			`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1,"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}}}`)
		assert.NilError(t, <-ended)
	})
	t.Run("with an error when the stream breaks", func(t *testing.T) {
		ended := make(chan error, 1)
		r, w := io.Pipe()
		go func() {
			ended <- quiet.New(server.Info{Name: "test", Version: "1"},
				catalog()).Serve(context.Background(), stream{r, w})
		}()
		w.CloseWithError(errors.New("cable cut"))
		assert.ErrorContains(t, <-ended, "cable cut")
	})
	t.Run("without the calls that do not heed their context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := dispatch.NewCatalog()
			release := make(chan struct{})
			dispatch.Add(c, dispatch.Spec{Name: "deaf", Summary: "Deaf.", Type: dispatch.Wait},
				func(context.Context, struct{}) (struct{}, error) {
					<-release
					return struct{}{}, nil
				})
			near, far := net.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- quiet.New(server.Info{Name: "test", Version: "1"},
					c).Serve(context.Background(), far)
			}()
			l := &line{t, near, bufio.NewReader(near), ended}
			l.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deaf","_meta":{` +
				modern + `}}}`)
			near.Close()
			assert.ErrorContains(t, <-ended, "calls still run after their context has ended")
			close(release)
		})
	})
}

type stream struct {
	io.ReadCloser
	w io.WriteCloser
}

func (s stream) Write(p []byte) (int, error) { return s.w.Write(p) }
func (s stream) Close() error {
	return errors.Join(s.ReadCloser.Close(), s.w.Close())
}

// A client that frames by Content-Length gets the same framing.
func TestContentLength(t *testing.T) {
	l := dial(t, quiet, catalog())
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	fmt.Fprintf(l.stream, "Content-Length: %d\r\n\r\n%s", len(ping), ping)
	assert.Equal(t, l.read(), "Content-Length: 36\r")
	assert.Equal(t, l.read(), "\r")
	body := make([]byte, 36)
	_, err := io.ReadFull(l.in, body)
	assert.NilError(t, err)
	assert.Equal(t, string(body), `{"jsonrpc":"2.0","id":1,"result":{}}`)
}
