package rates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	upstreamhttp "github.com/stdwire/stdwire/server/streamable"
)

var quiet = slog.New(slog.DiscardHandler)

// configured returns the rates of a configuration.
func configured(t testing.TB, rates string) []config.Rate {
	f := config.Parse(&config.Environment{}, config.Source{Path: "/f"},
		[]byte(`{"mcpServers": {}, "rates": [`+rates+`]}`))
	assert.NilError(t, f.Err())
	return f.Rates
}

// A caller is what calls a handler, and how often that has run.
type caller struct {
	t    testing.TB
	made int
}

// handler is what the rates wrap. An argument "down" says that the call does not reach its server.
func (c *caller) handler(sent bool) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		c.made++
		if sent && string(i.Arguments) != "down" {
			markSent(ctx)
		}
		return nil, nil
	}
}

// tries calls until one is refused, and returns how many were not, and the refusal.
func tries(h dispatch.Handler, ctx context.Context, i dispatch.Invocation) (n int, err error) {
	for n = 0; n < 1000; n++ {
		own := i
		if _, err = h(ctx, &own); err != nil {
			return n, err
		}
	}
	return n, nil
}

func tool(server, name, principal string) dispatch.Invocation {
	return dispatch.Invocation{Kind: "tool", Server: server, Name: name, Principal: principal}
}

func inGroups(groups ...string) context.Context {
	return auth.WithIdentity(context.Background(), &auth.Identity{Groups: groups})
}

// Which calls share a bucket, and which a rate is not for.
func TestWhoseBucket(t *testing.T) {
	for _, test := range []struct {
		name, rate string
		// calls of server, tool, principal and groups, each until it is refused, and how many of
		// each pass, in this order; 1000: it is not limited
		calls []string
		want  []int
	}{
		{"all", `"day": 5`, []string{"a x ann", "b y bob", " x "}, []int{5, 0, 0}},
		{"principal", `"day": 5, "per": ["principal"]`, []string{"a x ann", "b y ann", "a x bob"},
			[]int{5, 0, 5}},
		{"server", `"day": 5, "per": ["server"]`, []string{"a x ann", "a y bob", "b x ann"},
			[]int{5, 0, 5}},
		{"tool", `"day": 5, "per": ["tool"]`,
			[]string{"a x ann", "a x bob", "b x ann", "a y ann", "a prompt: ann"},
			[]int{5, 0, 5, 5, 1000}},
		{"both", `"day": 5, "per": ["principal", "server"]`,
			[]string{"a x ann", "a y ann", "b x ann", "a x bob"}, []int{5, 0, 5, 5}},
		{"group", `"day": 5, "per": ["group"]`,
			[]string{"a x ann", "a x ann red", "b y bob red", "a x bob red,blue,red", "a x bob blue"},
			[]int{1000, 5, 0, 0, 5}},
		{"groups", `"day": 5, "groups": ["re?"]`, []string{"a x ann blue", "a x ann red", "a x bob red"},
			[]int{1000, 5, 0}},
		{"servers", `"day": 5, "servers": ["a*"]`, []string{"ab x ann", "a x ann", "b x ann", " x ann"},
			[]int{5, 0, 1000, 1000}},
		{"tools", `"day": 5, "tools": ["x*"]`,
			[]string{"a x ann", "b xy ann", "a y ann", "a prompt: ann", " x ann"},
			[]int{5, 0, 1000, 1000, 0}},
		{"no parts of keys mix", `"day": 1, "per": ["principal", "server"]`,
			[]string{"a x ann:", "a: x ann", ": x anna"}, []int{1, 1, 1}},
		{"costs", `"day": 10, "per": ["tool"], "costs": {"x": 5, "y*": 3, "z": 0}`,
			[]string{"a x ann", "a yy ann", "a z ann", "a w ann"}, []int{2, 3, 1000, 10}},
		{"burst", `"rate": "100/h", "burst": 7`, []string{"a x ann"}, []int{7}},
		{"all or none", `"day": 3, "per": ["principal"]}, {"name": "b", "day": 4`,
			[]string{"a x ann", "a x bob"}, []int{3, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(nil)
				r.Set(configured(t, `{"name": "r", `+test.rate+`}`))
				c := caller{t: t}
				for n, call := range test.calls {
					parts := append(strings.Split(call, " "), "", "")
					i := tool(parts[0], parts[1], parts[2])
					if strings.HasPrefix(i.Name, "prompt") {
						i.Kind = "prompt"
					}
					ctx := inGroups(slices.DeleteFunc(strings.Split(parts[3], ","),
						func(g string) bool { return g == "" })...)
					h := r.Servers(c.handler(true))
					if i.Server == "" {
						own := dispatch.NewCatalog()
						dispatch.Add(own, dispatch.Spec{Name: "x", Summary: "Does.",
							Type: dispatch.Read},
							func(context.Context, struct{}) (int, error) { return 0, nil })
						h = r.Operations(own)(c.handler(false))
					}
					passed, err := tries(h, ctx, i)
					assert.Check(t, cmp.Equal(passed, test.want[n]), "%s: %v", call, err)
				}
			})
		})
	}
}

// What an operation of another catalog does is limited where its server is called.
func TestOperationsOfServersPass(t *testing.T) {
	r, c := New(nil), caller{t: t}
	r.Set(configured(t, `{"name": "r", "day": 1}`))
	h := r.Operations(dispatch.NewCatalog())(c.handler(false))
	n, err := tries(h, t.Context(), dispatch.Invocation{Kind: "operation", Name: "a.x"})
	assert.NilError(t, err)
	assert.Equal(t, n, 1000)
}

// A call that does not reach its server, and one that is in flight, costs nothing.
func TestNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := New(nil), caller{t: t}
		r.Set(configured(t, `{"name": "r", "rate": "1/h", "day": 1, "concurrent": 1, "wait": 0}`))
		h := r.Servers(c.handler(true))
		i := tool("a", "x", "ann")
		i.Arguments = json.RawMessage("down")
		n, err := tries(h, t.Context(), i)
		assert.NilError(t, err)
		assert.Equal(t, n, 1000)
		assert.Equal(t, r.buckets.Len(), 0)
		i.Arguments = nil
		n, _ = tries(h, t.Context(), i)
		assert.Equal(t, n, 1)
		i.InFlight = true
		n, _ = tries(h, t.Context(), i)
		assert.Equal(t, n, 1000)
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
		time.Sleep(20*time.Hour + 30*time.Minute)
		for rate, want := range map[string]string{
			`"rate": "6/min", "burst": 1`: `the rate limit "r" of 6/min is reached; try again in 10 s {"refused_by":"rate","rate":"r","retryAfterMs":10000}`,
			`"rate": "30/h", "burst": 1`:  `the rate limit "r" of 30/h is reached; try again in 2 min {"refused_by":"rate","rate":"r","retryAfterMs":120000}`,
			`"day": 1`: `the quota "r" of 1 a day is used up; try again in 3 h 30 min, at 2000-01-02T00:00:00Z ` +
				`{"refused_by":"rate","rate":"r","retryAfterMs":12600000,"resetsAt":"2000-01-02T00:00:00Z"}`,
		} {
			r, c := New(nil), caller{t: t}
			r.Set(configured(t, `{"name": "r", `+rate+`}`))
			n, err := tries(r.Servers(c.handler(true)), t.Context(), tool("a", "x", "ann"))
			assert.Equal(t, n, 1)
			e, ok := errors.AsType[*dispatch.Error](err)
			assert.Assert(t, ok && e.Code == dispatch.TooManyRequests && e.Recoverable)
			details, err := json.Marshal(e.Details)
			assert.NilError(t, err)
			assert.Equal(t, e.Message+" "+string(details), want)
			assert.Equal(t, r.Uses()[0].Refused, int64(1))
		}
	})
}

// Calls above a cap wait for their turn, in turns of principals, and their time is bounded.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(nil)
		r.Set(configured(t, `{"name": "r", "concurrent": 1, "wait": "10s", "per": ["server"]}`))
		var mu sync.Mutex
		var order []string
		call := func(ctx context.Context, principal string) error {
			i := tool("a", "x", principal)
			run := func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
				mu.Lock()
				order = append(order, principal)
				mu.Unlock()
				time.Sleep(4 * time.Second)
				return nil, nil
			}
			_, err := r.Servers(run)(ctx, &i)
			return err
		}
		var wg sync.WaitGroup
		start := func(principal string, want string) {
			wg.Go(func() {
				err := call(t.Context(), principal)
				assert.Check(t, cmp.Equal(fmt.Sprint(err), want))
			})
			synctest.Wait()
		}
		late := `too_many_requests: "r" allows 1 calls at a time, and none of them has ended in time; try again in 1 s`
		start("ann", "<nil>")
		start("ann", "<nil>")
		start("ann", late)
		start("bob", "<nil>")
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- call(ctx, "cid") }()
		synctest.Wait()
		cancel()
		assert.Assert(t, errors.Is(<-gone, context.Canceled))
		wg.Wait()
		assert.DeepEqual(t, order, []string{"ann", "ann", "bob"})
		assert.NilError(t, call(t.Context(), "dan"))
	})
}

// A panic gives back what the call has taken.
func TestPanic(t *testing.T) {
	r := New(nil)
	r.Set(configured(t, `{"name": "r", "concurrent": 1, "wait": 0}`))
	h := r.Servers(func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
		panic("oh")
	})
	for range 3 {
		func() {
			defer func() { assert.Equal(t, recover(), "oh") }()
			i := tool("a", "x", "")
			_, _ = h(t.Context(), &i)
		}()
	}
}

// New rates are in effect at once. What keeps its name keeps what was used and counted.
func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := New(nil), caller{t: t}
		h := r.Servers(c.handler(true))
		for _, step := range []struct {
			rates string
			want  int
			uses  string
		}{
			{``, 1000, "[]"},
			{`{"name": "r", "day": 3}`, 3, "[{r 3 a day 1}]"},
			{`{"name": "r", "day": 5}`, 2, "[{r 5 a day 2}]"},
			{`{"name": "r", "day": 5, "per": ["server"]}`, 5, "[{r 5 a day 3}]"},
			{`{"name": "q", "rate": "1/s", "day": 5, "concurrent": 2}`, 1,
				"[{q 1/s, 5 a day, 2 at a time 1}]"},
			{``, 1000, "[]"},
		} {
			r.Set(configured(t, step.rates))
			n, _ := tries(h, t.Context(), tool("a", "x", "ann"))
			assert.Equal(t, n, step.want, step.rates)
			assert.Equal(t, fmt.Sprint(r.Uses()), step.uses)
		}
	})
}

// A stand is a gateway with rates and one server, "up".
type stand struct {
	rates   *Rates
	server  *server.Server    // of the gateway
	own     *dispatch.Catalog // the operations of the gateway itself
	catalog *dispatch.Catalog // and those of its servers
	gateway *gateway.Gateway
	audit   bytes.Buffer
	calls   int // that the server got
}

// withoutRates leaves out the interceptors.
const withoutRates = "-"

// newStand starts a gateway, whose server is connected as connect does.
func newStand(t testing.TB, rates string,
	connect func(context.Context, *server.Server, client.Options) (*client.Client, error)) *stand {
	st := &stand{rates: New(nil)}
	servers := []dispatch.Interceptor{st.rates.Servers}
	if rates == withoutRates {
		rates, servers = "", nil
	}
	st.rates.Set(configured(t, rates))
	up := server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"}, nil)
	server.AddTool(up, mcp.Tool{Name: "x"}, func(context.Context, struct{}) (string, error) {
		st.calls++
		return "done", nil
	})
	server.Must(up.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"},
		Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
			st.calls++
			return &mcp.GetPromptResult{}, nil
		}}))
	server.Must(up.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:1", Name: "r"},
		Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
			st.calls++
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x:1"}}}, nil
		}}))
	st.own = dispatch.NewCatalog()
	dispatch.Add(st.own, dispatch.Spec{Name: "own.op", Summary: "Does.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "done", nil })
	o := server.Options{Logger: quiet, ToolView: func(name string) server.ToolView {
		return server.ToolView{Search: name == "searcher"}
	}}
	o.Dispatch.Interceptors = []dispatch.Interceptor{st.rates.Operations(st.own)}
	st.server = o.New(server.Info{Name: "gateway", Version: "1"}, st.own)
	st.catalog = st.own.Clone()
	st.gateway = gateway.Options{Logger: quiet, Audit: &st.audit, Catalog: st.catalog,
		Interceptors: servers}.New(st.server)
	assert.NilError(t, st.gateway.Add(gateway.Upstream{Server: host.Server{ID: "up",
		Options: client.Options{Logger: quiet},
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			return connect(ctx, up, o)
		}}}))
	st.gateway.Settle(t.Context())
	return st
}

func overPipe(ctx context.Context, up *server.Server, o client.Options) (*client.Client, error) {
	clientEnd, serverEnd := net.Pipe()
	go func() { _ = up.Serve(context.Background(), serverEnd) }()
	return o.Connect(ctx, client.Stream(clientEnd))
}

// On every surface and for every kind a refusal has the form that callers understand, lists and
// searches cost nothing, the tool that another one calls counts, and the audit log says what was
// refused.
func TestThroughAGateway(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		t.Run(era.String(), func(t *testing.T) {
			st := newStand(t, `{"name": "r", "day": 4}`, overPipe)
			c := mcptest.Connect(t, st.server, client.Options{Era: era, Logger: quiet})
			searcher := mcptest.Connect(t, st.server, client.Options{Era: era, Logger: quiet,
				Info: mcp.Implementation{Name: "searcher", Version: "1"}})
			dispatcher := dispatch.Options{Logger: quiet,
				Interceptors: []dispatch.Interceptor{st.rates.Operations(st.own)}}.New(st.catalog)
			web := httptest.NewServer(api.Options{Logger: quiet}.New(dispatcher))
			t.Cleanup(web.Close)
			for range 3 { // costs nothing
				for _, err := range c.Tools(t.Context()) {
					assert.NilError(t, err)
				}
				_, err := searcher.CallTool(t.Context(), "find_tool", map[string]any{"query": "x"})
				assert.NilError(t, err)
			}
			must := func(result *mcp.CallToolResult, err error) {
				t.Helper()
				assert.NilError(t, err)
				assert.Assert(t, !result.IsError, "%v", result.Content[0])
			}
			must(c.CallTool(t.Context(), "up__x", nil))
			must(c.CallTool(t.Context(), "own_op", nil))
			must(searcher.CallTool(t.Context(), "call_tool_destructive",
				map[string]any{"name": "up__x", "arguments": map[string]any{}}))
			_, status, _ := post(t, web.URL, "up.x")
			assert.Equal(t, status, http.StatusOK)
			assert.Equal(t, st.calls, 3)

			again := "try again in "
			for _, name := range []string{"up__x", "own_op"} {
				result, err := c.CallTool(t.Context(), name, nil)
				assert.NilError(t, err)
				assert.Assert(t, result.IsError)
				assert.Check(t, cmp.Contains(result.Content[0].(*mcp.TextContent).Text, again))
			}
			_, err := c.GetPrompt(t.Context(), "up__p", nil)
			_, readErr := c.ReadResource(t.Context(), "x:1")
			for _, err := range []error{err, readErr} {
				refused, ok := errors.AsType[*rpc.Error](err)
				assert.Assert(t, ok, "%v", err)
				assert.Check(t, refused.Code > -32000 || refused.Code < -32768, refused.Code)
				assert.Check(t, cmp.Contains(string(refused.Data), `"retryAfterMs":`))
				assert.Check(t, cmp.Contains(refused.Message, again))
			}
			for _, name := range []string{"up.x", "own.op"} {
				text, status, header := post(t, web.URL, name)
				assert.Check(t, cmp.Equal(status, http.StatusTooManyRequests), text)
				assert.Check(t, header.Get("Retry-After") != "" && header.Get("Retry-After") != "0")
				assert.Check(t, cmp.Contains(text, `"too_many_requests"`))
				assert.Check(t, cmp.Contains(text, `"retryAfterMs":`))
			}
			assert.Equal(t, st.calls, 3)
			assert.Equal(t, st.rates.Uses()[0].Refused, int64(6))
			assert.NilError(t, c.Close())
			assert.NilError(t, searcher.Close())
			st.gateway.Close()
			log := st.audit.String()
			assert.Equal(t, strings.Count(log, `"outcome":"refused","refused_by":"rate"`), 4, log)
			assert.Equal(t, strings.Count(log, `"outcome":"ok"`), 3, log)
		})
	}
}

// post calls an operation of the HTTP API.
func post(t *testing.T, url, name string) (text string, status int, header http.Header) {
	service, action, _ := strings.Cut(name, ".")
	resp, err := http.Post(url+"/v1/"+service, "application/json",
		strings.NewReader(`{"action":"`+action+`","params":{},"confirm":true}`))
	assert.NilError(t, err)
	defer resp.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(resp.Body)
	assert.NilError(t, err)
	return body.String(), resp.StatusCode, resp.Header
}

// A server that answers 429 gets no calls until the time that it has said, however it is asked.
func TestServerAsksForAPause(t *testing.T) {
	var mu sync.Mutex
	posts, busy := 0, false
	connect := func(ctx context.Context, up *server.Server,
		o client.Options) (*client.Client, error) {
		h := upstreamhttp.Options{Logger: quiet}.New(up)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			refuse := busy && r.Method == http.MethodPost
			if refuse {
				posts++
			}
			mu.Unlock()
			if refuse {
				w.Header().Set("Retry-After", "6000")
				http.Error(w, "slow down", http.StatusTooManyRequests)
				return
			}
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(web.Close)
		return o.Connect(ctx, streamable.Dial(web.URL))
	}
	st := newStand(t, `{"name": "r", "day": 1000}`, connect)
	c := mcptest.Connect(t, st.server, client.Options{Logger: quiet})
	_, err := c.CallTool(t.Context(), "up__x", nil)
	assert.NilError(t, err)
	mu.Lock()
	busy = true
	mu.Unlock()
	_, err = c.CallTool(t.Context(), "up__x", nil)
	assert.ErrorContains(t, err, "429")
	for range 3 {
		result, err := c.CallTool(t.Context(), "up__x", nil)
		assert.NilError(t, err)
		assert.Assert(t, result.IsError)
		assert.Equal(t, result.Content[0].(*mcp.TextContent).Text,
			`the server "up" has asked for a pause; try again in 60 min`)
	}
	_, err = c.GetPrompt(t.Context(), "up__p", nil)
	assert.ErrorContains(t, err, "has asked for a pause")
	mu.Lock()
	assert.Check(t, cmp.Equal(posts, 1))
	mu.Unlock()
	uses := st.rates.Uses()
	assert.Equal(t, fmt.Sprint(uses[len(uses)-1]), "{(server)  4}")
	assert.NilError(t, c.Close())
	st.gateway.Close()
}

// A pause that a server asks for when it is called with one user's credentials is for him alone.
func TestPauseOfAUser(t *testing.T) {
	for perUser, want := range map[bool]int{true: 2, false: 1} {
		r, posts := New(nil), 0
		r.Set(configured(t, `{"name": "r", "day": 1000}`))
		r.SetPerUser(map[string]bool{"a": perUser})
		h := r.Servers(func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
			posts++
			return nil, &streamable.StatusError{Status: http.StatusTooManyRequests,
				Header: http.Header{"Retry-After": {"600"}}}
		})
		for _, user := range []string{"ann", "ann", "bob", "bob"} {
			i := tool("a", "x", user)
			_, err := h(t.Context(), &i)
			assert.Assert(t, err != nil)
		}
		assert.Equal(t, posts, want)
	}
}

// BenchmarkCall calls a tool through a gateway without the interceptors, with them and no rates,
// and with a rate.
func BenchmarkCall(b *testing.B) {
	for name, rates := range map[string]string{"without": withoutRates, "off": ``,
		"on": `{"name": "a", "rate": "1000000/s", "per": ["principal"]}`} {
		b.Run(name, func(b *testing.B) {
			st := newStand(b, rates, overPipe)
			defer st.gateway.Close()
			call := dispatch.Options{Logger: quiet}.New(st.catalog)
			b.ReportAllocs()
			for b.Loop() {
				e := call.Dispatch(b.Context(),
					&dispatch.Call{Operation: "up.x", Confirmed: true})
				if e.Err != nil {
					b.Fatal(e.Err)
				}
			}
		})
	}
}

func BenchmarkInterceptor(b *testing.B) {
	next := func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		markSent(ctx)
		return nil, nil
	}
	for name, rates := range map[string]string{"off": ``,
		"on": `{"name": "a", "rate": "1000000/s", "per": ["principal"]}`,
		"three": `{"name": "a", "rate": "1000000/s", "per": ["principal"]},
			{"name": "b", "day": 1000000, "per": ["server"], "costs": {"x": 0}},
			{"name": "c", "concurrent": 100}`} {
		b.Run(name, func(b *testing.B) {
			r := New(nil)
			r.Set(configured(b, rates))
			h := r.Servers(next)
			i := tool("files", "read", "https://login.example.com#ann")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(b.Context(), &i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func markSent(ctx context.Context) {
	if sent, ok := ctx.Value(contextkey.Sent{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

func TestCostOf(t *testing.T) {
	r := &config.Rate{Costs: []config.RateCost{{Tools: "search_code"}, {Tools: "search_c*", Cost: 5},
		{Tools: "search_*", Cost: 3}, {Tools: "*", Cost: 2}}}
	for tool, want := range map[string]int{"search_code": 0, "search_commits": 5, "search_x": 3,
		"other": 2} {
		assert.Equal(t, costOf(r, tool), want)
	}
	assert.Equal(t, costOf(new(config.Rate), "other"), 1)
}
