package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A source is a server that records its requests: the method, and the cursor or URI.
type source struct {
	*scripted
	mu     sync.Mutex
	asked  []string
	listen message // the last subscriptions/listen
}

// run returns the source's script. The result "" is an error response, and "-" means no response.
func (src *source) run(handshake func(*scripted), result func(what string) string) func(*scripted) {
	return func(s *scripted) {
		src.scripted = s
		handshake(s)
		for m := s.read(); m.line != ""; m = s.read() {
			what := m.Method
			for _, name := range []string{"uri", "cursor"} {
				if text, ok := jsonscan.Text(jsonscan.Member(m.Params, name)); ok {
					what += " " + text
				}
			}
			src.mu.Lock()
			src.asked = append(src.asked, what)
			src.mu.Unlock()
			if m.Method == mcp.MethodListen {
				src.listen = m
				agreed := `"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:1","a:2"]`
				s.notify(mcp.NotificationSubscriptionsAcknowledged,
					fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{%s}}`,
						m.ID, agreed))
				continue
			}
			switch r := result(what); r {
			case "":
				s.refuse(m, -32602, "Invalid params")
			case "-":
			default:
				s.reply(m, r)
			}
		}
	}
}

// answer returns a client of a source.
func answer(t *testing.T, o Options, handshake func(*scripted),
	result func(what string) string) (*Client, *source) {
	t.Helper()
	src := new(source)
	return connect(t, o, src.run(handshake, result)), src
}

func toolName(t *mcp.Tool) string { return t.Name }

func all(s *scripted) { s.reply(s.read(), everything) }

// since returns the requests since its last call.
func (s *source) since() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := strings.Join(s.asked, ", ")
	s.asked = nil
	return asked
}

// hinted returns a result with these members and hints.
func hinted(ttl int, scope, members string) string {
	return fmt.Sprintf(`{"resultType":"complete", %s,"ttlMs":%d, "cacheScope":%q}`, members, ttl,
		scope)
}

// stock returns the results of a source for every cacheable method.
func stock(ttl int, scope string) func(what string) string {
	return func(what string) string {
		members := map[string]string{
			"tools/list":               `"tools":[{"name":"t","inputSchema":{"type":"object"}}]`,
			"prompts/list":             `"prompts":[{"name":"p"}]`,
			"resources/list":           `"resources":[{"uri":"a:1","name":"r"}]`,
			"resources/templates/list": `"resourceTemplates":[{"uriTemplate":"a:{x}","name":"r"}]`,
			"server/discover":          `"supportedVersions":["2026-07-28"],"capabilities":{}`}[what]
		if uri, ok := strings.CutPrefix(what, "resources/read "); ok {
			members = fmt.Sprintf(`"contents":[{"uri":%q,"text":"\u0041"}]`, uri)
		}
		if members == "" {
			members = `"content":[],"messages":[]`
		}
		return hinted(ttl, scope, members)
	}
}

func read(t *testing.T, c *Client, uri string, opts ...CallOption) {
	t.Helper()
	r, err := c.ReadResource(t.Context(), uri, opts...)
	assert.NilError(t, err)
	assert.Equal(t, r.Contents[0].URI, uri)
}

// bubble runs a subtest in a bubble of testing/synctest.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Cacheable results are stored byte by byte, only for modern connections. Each caller owns the
// result that it gets.
func TestCacheable(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		handshake := map[mcp.Era]func(*scripted){mcp.Modern: all,
			mcp.Legacy: (*scripted).legacy}[era]
		revision := map[mcp.Era]mcp.Revision{mcp.Modern: mcp.LatestModern,
			mcp.Legacy: mcp.LatestLegacy}[era]
		for _, method := range []string{"server/discover", "tools/list", "prompts/list",
			"resources/list", "resources/templates/list", "resources/read",
			"tools/call", "prompts/get", "completion/complete", "x/y"} {
			bubble(t, era.String()+" "+method, func(t *testing.T) {
				m, _ := mcp.MethodAt(method, revision)
				params := map[string]string{"uri": "a:1"}
				if method != "resources/read" {
					params = nil
				}
				c, src := answer(t, Options{}, handshake, stock(60_000, "private"))
				first, err := c.Call(t.Context(), method, params)
				assert.NilError(t, err)
				want := string(first)
				assert.Equal(t, want, stock(60_000, "private")(src.asked[0]))
				for range 3 {
					clear(first)
					again, err := c.Call(t.Context(), method, params)
					assert.NilError(t, err)
					assert.Equal(t, string(again), want)
					first = again
				}
				assert.Equal(t, len(src.asked) == 1, m.Cacheable)
				assert.Equal(t, len(src.asked), map[bool]int{true: 1, false: 4}[m.Cacheable])
			})
		}
	}
}

// Every method of the client uses the same cached result.
func TestCacheRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, src := answer(t, Options{}, all, stock(60_000, "public"))
		ctx := t.Context()
		list := func(pages iter.Seq2[json.RawMessage, error]) string {
			return names(pages, func(page json.RawMessage) string { return string(page) })
		}
		for range 2 {
			assert.Equal(t, names(c.Tools(ctx), toolName), "t")
			assert.Equal(t, list(c.Integration().Pages(ctx, mcp.KindTool)), stock(60_000, "public")("tools/list"))
			assert.Equal(t, names(c.Resources(ctx), uriOf), "a:1")
			assert.Equal(t, names(c.ResourceTemplates(ctx), templateOf), "a:{x}")
			assert.Equal(t, names(c.Prompts(ctx), promptOf), "p")
			read(t, c, "a:1")
			raw, err := c.Call(ctx, "resources/read", json.RawMessage(`{"uri": "a:1"}`))
			assert.NilError(t, err)
			assert.Equal(t, string(raw), stock(60_000, "public")("resources/read a:1"))
		}
		assert.Equal(t, src.since(),
			"tools/list, resources/list, resources/templates/list, prompts/list, resources/read a:1")
	})
}

// Two requests share a result only if everything that it may depend on is equal. A request with
// input responses is not cached.
func TestCacheKey(t *testing.T) {
	meta := func(name, value string) []CallOption {
		return []CallOption{Meta(mcp.Meta{name: json.RawMessage(value)})}
	}
	answers := func(a mcp.InputAnswers) []CallOption { return []CallOption{Answers(a)} }
	type request struct {
		method, params string
		opts           []CallOption
	}
	list := request{"tools/list", `{}`, nil}
	for name, test := range map[string]struct {
		a, b request
		same bool
	}{
		"the same": {request{"tools/list", `{"cursor":"1"}`, nil},
			request{"tools/list", `{ "cursor" : "1" }`, nil}, true},
		"no params":      {list, request{"tools/list", `null`, nil}, true},
		"another method": {list, request{"prompts/list", `{}`, nil}, false},
		"another cursor": {request{"tools/list", `{"cursor":"1"}`, nil},
			request{"tools/list", `{"cursor":"2"}`, nil}, false},
		"no cursor": {list, request{"tools/list", `{"cursor":""}`, nil}, false},
		"another URI": {request{"resources/read", `{"uri":"a:1"}`, nil},
			request{"resources/read", `{"uri":"a:2"}`, nil}, false},
		"another type": {request{"tools/list", `{"cursor":"1"}`, nil},
			request{"tools/list", `{"cursor":1}`, nil}, false},
		"a further param": {list, request{"tools/list", `{"x":1}`, nil}, false},
		"_meta": {list,
			request{"tools/list", `{}`, meta("com.example/tenant", `1`)}, false},
		"another _meta": {request{"tools/list", `{}`, meta("com.example/tenant", `2`)},
			request{"tools/list", `{}`, meta("com.example/tenant", `1`)}, false},
		"the same _meta": {request{"tools/list", `{"_meta":{"x":1}}`, nil},
			request{"tools/list", `{}`, meta("x", `1`)}, true},
		"a trace": {list,
			request{"tools/list", `{"_meta":{"tracestate":"x"}}`, meta("traceparent", `"00-ab"`)},
			true},
		"a log level": {list,
			request{"tools/list", `{}`, meta(mcp.MetaLogLevel, `"debug"`)}, true},
		"progress": {list,
			request{"tools/list", `{}`, []CallOption{OnProgress(func(mcp.ProgressParams) {})}},
			true},
		"a timeout": {list,
			request{"tools/list", `{}`, []CallOption{Timeout(time.Second)}}, true},
		"by hand": {list, request{"tools/list", `{}`, []CallOption{ReturnInputRequests()}}, true},
		"no answers": {list, request{"tools/list", `{}`, answers(mcp.InputAnswers{})},
			true},
		"fresh": {list, request{"tools/list", `{}`, []CallOption{Fresh()}}, false},
		"answers": {request{"resources/read", `{"uri":"a:1"}`, nil},
			request{"resources/read", `{"uri":"a:1"}`,
				answers(mcp.InputAnswers{InputResponses: mcp.InputResponses{}})}, false},
		"a state": {request{"resources/read", `{"uri":"a:1"}`, nil},
			request{"resources/read", `{"uri":"a:1"}`,
				answers(mcp.InputAnswers{RequestState: "s"})}, false},
		"the same answers": {
			request{"resources/read", `{"uri":"a:1","inputResponses":{}}`, nil},
			request{"resources/read", `{"uri":"a:1","inputResponses":{}}`, nil}, false},
		"the same state": {request{"resources/read", `{"uri":"a:1","requestState":""}`, nil},
			request{"resources/read", `{"uri":"a:1","requestState":""}`, nil}, false},
		"answers, then without": {
			request{"resources/read", `{"uri":"a:1"}`,
				answers(mcp.InputAnswers{RequestState: "s"})},
			request{"resources/read", `{"uri":"a:1"}`, nil}, false},
	} {
		bubble(t, name, func(t *testing.T) {
			c, src := answer(t, Options{}, all, stock(60_000, "private"))
			for _, r := range []request{test.a, test.b} {
				_, err := c.Call(t.Context(), r.method, json.RawMessage(r.params), r.opts...)
				assert.NilError(t, err)
			}
			assert.Equal(t, len(src.asked), map[bool]int{true: 1, false: 2}[test.same])
		})
	}
}

// A client with other capabilities or another name may get other results.
func TestCacheKeyOfTheClient(t *testing.T) {
	for name, other := range map[string]Options{
		"capabilities": {Roots: []mcp.Root{}},
		"name":         {Info: mcp.Implementation{Name: "other", Version: "1"}},
	} {
		bubble(t, name, func(t *testing.T) {
			cache := NewCache(1 << 20)
			other.Cache = cache
			for i, o := range []Options{{Cache: cache}, other} {
				c, src := answer(t, o, all, stock(60_000, "public"))
				read(t, c, "a:1")
				assert.Equal(t, src.since(), "resources/read a:1", "%d", i)
			}
			c, src := answer(t, Options{Cache: cache, LogLevel: mcp.LevelDebug}, all,
				stock(60_000, "public"))
			read(t, c, "a:1")
			assert.Equal(t, src.since(), "")
		})
	}
}

// A result is fresh for ttlMs after it was received, to the nanosecond, and nothing is fetched in
// advance.
func TestCacheTTL(t *testing.T) {
	for hints, ttl := range map[string]time.Duration{
		`"ttlMs":1500`:                time.Duration(1500) * time.Millisecond,
		`"ttlMs":9223372036854775807`: 100 * 365 * 24 * time.Hour, // practically forever
		`"ttlMs":0`:                   0,
		`"ttlMs":-1`:                  0,
		`"x":0`:                       0,
		`"ttlMs":null`:                0,
		`"ttlMs":"1500"`:              0,
		`"ttlMs":1.5`:                 0,
		`"TTLMS":1500`:                0,
		`"ttlMs":1500,"ttlMs":1500`:   0,
	} {
		bubble(t, hints, func(t *testing.T) {
			c, src := answer(t, Options{}, all,
				func(string) string { time.Sleep(3 * time.Second); return `{` + hints + `}` })
			look := func() {
				_, err := c.Call(t.Context(), "tools/list", nil)
				assert.NilError(t, err)
			}
			look()
			assert.Equal(t, src.since(), "tools/list")
			if ttl > 0 {
				time.Sleep(ttl - 1)
				look()
				assert.Equal(t, src.since(), "")
				time.Sleep(1)
			}
			if ttl < time.Hour {
				look()
				assert.Equal(t, src.since(), "tools/list")
				time.Sleep(time.Hour)
				assert.Equal(t, src.since(), "")
			}
		})
	}
}

// With a callback that may delay the result, ttlMs counts from the call.
func TestCacheTTLWithProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, src := answer(t, Options{}, all, func(what string) string {
			time.Sleep(time.Second)
			return stock(1500, "private")(what)
		})
		read(t, c, "a:1", OnProgress(func(mcp.ProgressParams) {}))
		time.Sleep(500*time.Millisecond - 1)
		read(t, c, "a:1", OnProgress(func(mcp.ProgressParams) { t.Error("progress of nothing") }))
		assert.Equal(t, src.since(), "resources/read a:1")
		time.Sleep(1)
		read(t, c, "a:1")
		assert.Equal(t, src.since(), "resources/read a:1")
	})
}

// A response that is not the result of the request is not stored.
func TestCacheNotKept(t *testing.T) {
	question := wants(elicitation("a", nameForm), `"s"`)
	good := hinted(60_000, "public", `"contents":[]`)
	for name, results := range map[string][]string{
		"an error":                 {""},
		"no result of that method": {hinted(60_000, "public", `"contents":7`)},
		"an unknown type":          {`{"resultType":"maybe","contents":[],"ttlMs":60000}`},
		"questions": {
			strings.TrimSuffix(wants(elicitation("a", nameForm)+`,"b":{"method":"x/y"}`, ""), "}") +
				`,"ttlMs":60000}`},
		"the result after questions":     {question, good},
		"the result after one, no state": {wants(elicitation("a", nameForm), ""), good},
		"the result after a state":       {wants("", `"s"`), good},
	} {
		bubble(t, name, func(t *testing.T) {
			n := 0
			c, src := answer(t, Options{OnElicit: accept(`{"name":"Ada"}`)}, all,
				func(string) string { n++; return results[(n-1)%len(results)] })
			for range 3 {
				_, err := c.ReadResource(t.Context(), "a:1")
				assert.Equal(t, err == nil, len(results) > 1)
			}
			assert.Equal(t, len(src.asked), 3*len(results))
			assertEmpty(t, c.o.Cache)
		})
	}
}

// A cached result that cannot be decoded is requested again, and so is an invalid list.
func TestCacheOfNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := true
		c, src := answer(t, Options{}, all, func(what string) string {
			switch {
			case what == "resources/read a:1" && bad:
				return hinted(60_000, "public", `"_meta":{"x":1},"contents":7`)
			case what == "resources/read a:1":
				return hinted(60_000, "public", `"contents":[]`)
			case what == "tools/list" && bad:
				return hinted(60_000, "public", `"tools":7`)
			case what == "prompts/list":
				return hinted(60_000, "public", `"prompts":[],"nextCursor":"c"`)
			case what == "prompts/list c" && bad:
				return hinted(60_000, "public", `"prompts":[],"nextCursor":"c"`)
			}
			return hinted(60_000, "public", `"prompts":[],"tools":[]`)
		})
		_, err := c.Call(t.Context(), "resources/read", map[string]string{"uri": "a:1"})
		assert.NilError(t, err)
		for _, err := range c.Tools(t.Context()) {
			assert.ErrorIs(t, err, rpc.ErrProtocol)
		}
		for _, err := range c.Prompts(t.Context()) {
			assert.NilError(t, err)
		}
		bad = false
		r, err := c.ReadResource(t.Context(), "a:1")
		assert.NilError(t, err)
		assert.Equal(t, len(r.Meta), 0)
		assert.Equal(t, names(c.Tools(t.Context()), toolName), "")
		assert.Equal(t, names(c.Prompts(t.Context()), promptOf), "")
		assert.Equal(t, src.since(),
			"resources/read a:1, tools/list, prompts/list, prompts/list c, resources/read a:1, tools/list, prompts/list, prompts/list c")
	})
}

// The cache does not hide that the context of a call has ended or that the connection is lost.
func TestCacheOfTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := new(source)
		c, err := Connect(t.Context(), stream(src.run(all, stock(60_000, "private"))))
		assert.NilError(t, err)
		read(t, c, "a:1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = c.ReadResource(ctx, "a:1")
		assert.ErrorIs(t, err, context.Canceled)
		src.out.Close()
		synctest.Wait()
		_, err = c.ReadResource(t.Context(), "a:1")
		assert.ErrorType(t, err.(*CallError).Err, &LostError{})
		assert.NilError(t, c.Close())
		_, err = c.ReadResource(t.Context(), "a:1")
		assert.ErrorType(t, err.(*CallError).Err, &LostError{})
		assert.Equal(t, src.since(), "resources/read a:1")

		c, _ = answer(t, Options{}, all, stock(60_000, "private"))
		read(t, c, "a:1")
		c.once.Do(func() { close(c.closing) }) // a Close in progress
		_, err = c.ReadResource(t.Context(), "a:1")
		assert.ErrorIs(t, err, errClosed)
	})
}

// Fresh sends a request, and its response replaces the stored result, unless that is newer.
func TestFresh(t *testing.T) {
	for name, test := range map[string]struct{ second, third string }{
		"another result": {hinted(60_000, "public", `"contents":[{"uri":"a:1","text":"2"}]`), ""},
		"not to be kept": {hinted(0, "public", `"contents":[{"uri":"a:1","text":"2"}]`),
			"resources/read a:1"},
		"an error": {"", "resources/read a:1"},
	} {
		bubble(t, name, func(t *testing.T) {
			next := stock(60_000, "private")("resources/read a:1")
			c, src := answer(t, Options{}, all, func(string) string { return next })
			read(t, c, "a:1")
			read(t, c, "a:1")
			assert.Equal(t, src.since(), "resources/read a:1")
			next = test.second
			_, err := c.ReadResource(t.Context(), "a:1", Fresh())
			assert.Equal(t, err == nil, next != "")
			assert.Equal(t, src.since(), "resources/read a:1")
			r, err := c.ReadResource(t.Context(), "a:1")
			assert.Equal(t, src.since(), test.third)
			assert.Assert(t, err != nil || r.Contents[0].Text == "2")
		})
	}
	bubble(t, "something younger", func(t *testing.T) {
		var waiting []message
		c := connect(t, Options{}, func(s *scripted) {
			all(s)
			waiting = append(waiting, s.read(), s.read())
			s.reply(waiting[1],
				hinted(60_000, "private", `"contents":[{"uri":"a:1","text":"young"}]`))
			s.reply(waiting[0], hinted(60_000, "public", `"contents":[{"uri":"a:1","text":"old"}]`))
			s.hold()
		})
		done := make(chan bool)
		go func() { read(t, c, "a:1"); close(done) }()
		synctest.Wait()
		read(t, c, "a:1", Fresh())
		<-done
		r, err := c.ReadResource(t.Context(), "a:1")
		assert.NilError(t, err)
		assert.Equal(t, r.Contents[0].Text, "young")
	})
}
