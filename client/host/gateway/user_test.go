package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
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
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// connections records which connections a server with host.PerUser had, and what is known of their
// users.
type connections struct {
	mu     sync.Mutex
	starts map[string]int        // by user
	known  map[string]func() any // by user: what host.UserFrom returned
}

// perUser opens a gateway to a server with a connection for each user.
func (w *fixture) perUser(o gateway.Options, change func(*gateway.Upstream)) *connections {
	c := &connections{starts: map[string]int{}, known: map[string]func() any{}}
	s := w.server("up", w.era)
	s.Sharing = host.PerUser
	connect := s.Connect
	s.Connect = func(ctx context.Context, user string, o client.Options) (*client.Client, error) {
		c.mu.Lock()
		c.starts[user]++
		c.known[user] = host.UserFrom(ctx)
		c.mu.Unlock()
		return connect(ctx, user, o)
	}
	if change != nil {
		change(&s)
	}
	w.reopen(o, s)
	return c
}

func (c *connections) startsOf(user string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts[user]
}

// Each user has one connection, whatever his sessions, which his lists come from too. A caller
// without a principal can use nothing, and sees why.
func TestPerUser(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.readable()
		catalog := dispatch.NewCatalog()
		made := w.perUser(gateway.Options{Catalog: catalog}, nil)
		for _, user := range []string{"ada", "bob", "ada"} {
			conn := w.as(user)
			_, err := call(t, conn, "up__verbatim", "")
			assert.NilError(t, err)
			_, err = request(t, conn, "resources/read", `"uri":"mem://a"`)
			assert.NilError(t, err)
			session := w.downstream.Integration().NewConn(t.Context(),
				server.ConnOptions{Principal: user})
			_, err = call(t, session, "up__verbatim", "")
			assert.NilError(t, err)
			session.Close() // does not end what belongs to the user
		}
		d := dispatch.Options{Logger: quiet}.New(catalog)
		e := d.Dispatch(t.Context(), &dispatch.Call{Operation: "up.verbatim",
			Arguments: []byte(`{}`), Confirmed: true, Principal: "bob"})
		assert.Assert(t, e.Err == nil, "%v", e.Err)
		assert.DeepEqual(t, made.starts, map[string]int{"ada": 1, "bob": 1})

		nobody := w.as("")
		const why = `server "up" is called with the credentials of each user, and the caller of ` +
			`this request is unknown: `
		for method, params := range map[string]string{
			"tools/call":     `"name":"up__verbatim","arguments":{}`,
			"resources/read": `"uri":"mem://a"`, "prompts/get": `"name":"up__greet","arguments":{"who":"a"}`} {
			_, err := request(t, nobody, method, params)
			assert.Check(t, cmp.ErrorContains(err, why), method)
		}
		e = d.Dispatch(t.Context(), &dispatch.Call{Operation: "up.verbatim",
			Arguments: []byte(`{}`), Confirmed: true})
		if assert.Check(t, e.Err != nil) {
			assert.Check(t, cmp.Equal(e.Err.Code, dispatch.StateError))
			assert.Check(t, errors.Is(e.Err, gateway.ErrNoUser))
		}
		assert.DeepEqual(t, made.starts, map[string]int{"ada": 1, "bob": 1})
	})
}

// Upstream.User names the user and says what his connection gets to know: always the latest.
func TestUpstreamUser(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		type token struct{ text string }
		tokens := map[string]string{"ada": "first"}
		made := w.perUser(gateway.Options{}, func(s *gateway.Upstream) {
			s.User = func(ctx context.Context) (string, any, error) {
				principal := dispatch.PrincipalFrom(ctx)
				if principal == "boom" {
					panic("boom")
				}
				text, ok := tokens[principal]
				if !ok {
					return "", nil, fmt.Errorf("needs a token of %s", principal)
				}
				return principal + " of up", token{text}, nil
			}
		})
		ada := w.as("ada")
		_, err := call(t, ada, "up__verbatim", "")
		assert.NilError(t, err)
		known := made.known["ada of up"]
		assert.Equal(t, known(), token{"first"})
		tokens["ada"] = "second"
		_, err = call(t, ada, "up__verbatim", "")
		assert.NilError(t, err)
		assert.Equal(t, known(), token{"second"})
		assert.Equal(t, made.startsOf("ada of up"), 1)
		assert.Equal(t, made.startsOf(""), 0, "no connection is nobody's")
		_, err = call(t, w.as("bob"), "up__verbatim", "")
		assert.ErrorContains(t, err, `server "up" needs a token of bob`)
		_, err = call(t, w.as("boom"), "up__verbatim", "")
		assert.ErrorContains(t, err, "gateway: ", "an internal error")
		assert.Equal(t, len(made.starts), 1)
	})
}

// The connection of a user ends when it is unused, and gives way to that of another user.
func TestPerUserLimit(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		made := w.perUser(gateway.Options{}, func(s *gateway.Upstream) {
			s.MaxSessions, s.IdleStop = 2, time.Minute
		})
		for i, user := range []string{"a", "b", "c", "b", "a"} {
			_, err := call(t, w.as(user), "up__verbatim", "")
			assert.NilError(t, err, "%d", i)
			time.Sleep(time.Second)
		}
		assert.DeepEqual(t, made.starts, map[string]int{"a": 2, "b": 1, "c": 1})
		time.Sleep(2 * time.Minute)
		for _, s := range w.gateway.Manager().Status() {
			assert.Equal(t, s.Session, "")
		}
	})
}

// The lists that are being fetched for one principal are bounded, however many clients with
// credentials of their own he has; nobody else waits for that.
func TestFetchesOfOnePrincipal(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		release := make(chan struct{})
		type client struct{}
		w.perUser(gateway.Options{}, func(s *gateway.Upstream) {
			s.MaxSessions = 1000
			s.User = func(ctx context.Context) (string, any, error) {
				name, _ := ctx.Value(client{}).(string)
				return dispatch.PrincipalFrom(ctx) + name, nil, nil
			}
			connect := s.Connect
			s.Connect = hung(release, connect)
		})
		as := func(user, name string) error {
			ctx := context.WithValue(context.WithValue(t.Context(), contextkey.Principal{}, user),
				client{}, name)
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return w.gateway.AwaitOperation(limited, "up.verbatim")
		}
		const most = 64
		for i := range most {
			assert.ErrorIs(t, as("ada", fmt.Sprint(i)), context.DeadlineExceeded, "%d", i)
		}
		assert.ErrorContains(t, as("ada", "more"), host.ErrTooManySessions.Error())
		assert.ErrorIs(t, as("ada", "0"), context.DeadlineExceeded, "it waits for what is fetched")
		assert.ErrorIs(t, as("bob", ""), context.DeadlineExceeded)
		close(release)
		time.Sleep(settle)
		assert.NilError(t, as("ada", "more"))
	})
}

// hung returns a function that connects when release is closed.
func hung(release <-chan struct{}, connect func(context.Context, string, client.Options) (
	*client.Client, error)) func(context.Context, string, client.Options) (*client.Client, error) {
	return func(ctx context.Context, user string, o client.Options) (*client.Client, error) {
		select {
		case <-release:
			return connect(ctx, user, o)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// A tenant is what a server shows to one user.
type tenant struct {
	tools     map[string]string // definitions by name
	resources []string
	fails     error
}

// tenants opens a gateway to a server "up" that shows each user other items, and to one that shows
// all the same.
func (w *fixture) tenants(o gateway.Options, shown map[string]*tenant,
	change func(*gateway.Upstream)) (servers map[string]*server.Server) {
	servers = map[string]*server.Server{}
	for user, of := range shown {
		s := server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"}, nil)
		s.Integration().Declare(mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt)
		for name := range of.tools {
			addTool(w.t, s, name, of.tools[name])
		}
		for _, uri := range of.resources {
			assert.NilError(w.t, s.AddResource(server.Resource{
				Resource: mcp.Resource{URI: uri, Name: uri},
				Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{
						Contents: []mcp.ResourceContents{{URI: uri, Text: "of " + user}}}, nil
				}}))
		}
		servers[user] = s
	}
	up := gateway.Upstream{Server: host.Server{ID: "up", Sharing: host.PerUser,
		Options: client.Options{Era: w.era, Logger: quiet},
		Connect: func(ctx context.Context, user string, o client.Options) (*client.Client, error) {
			if user == "" {
				w.t.Error("a connection without a user")
			}
			if shown[user] == nil || shown[user].fails != nil {
				return nil, errors.New("the token of this user is refused")
			}
			return o.Connect(ctx, w.pipe(servers[user]))
		}}}
	if change != nil {
		change(&up)
	}
	w.reopen(o, up)
	assert.NilError(w.t, w.gateway.Add(w.server("shared", w.era)))
	time.Sleep(settle)
	return servers
}

func addTool(t *testing.T, s *server.Server, name, description string) {
	t.Helper()
	assert.NilError(t, s.Integration().AddItem(forwarded(mcp.Tool{Name: name,
		Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"` + description + `"}]}`), nil
		})))
}

// listed returns the names or URIs in a list, and the whole result.
func listed(t *testing.T, conn *server.Conn, method, member, key string) (names, raw string) {
	t.Helper()
	text, err := request(t, conn, method, "")
	assert.NilError(t, err)
	var result map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal([]byte(text), &result))
	var items []map[string]any
	assert.NilError(t, json.Unmarshal(result[member], &items))
	var all []string
	for _, item := range items {
		all = append(all, item[key].(string))
	}
	slices.Sort(all)
	return strings.Join(all, " "), text
}

// Each user sees what his own connection lists, and calls and reads that only. One whose credential
// is refused sees what other servers have, and why the rest is missing.
func TestListsOfUsers(t *testing.T) {
	for _, era := range eras {
		withFixture(t, era, func(t *testing.T, w *fixture) {
			catalog := dispatch.NewCatalog()
			servers := w.tenants(gateway.Options{Catalog: catalog}, map[string]*tenant{
				"ada": {tools: map[string]string{"same": "of ada", "adas": "only ada"},
					resources: []string{"t://ada"}},
				"bob": {tools: map[string]string{"same": "of bob"}, resources: []string{"t://bob"}},
				"eve": {fails: errors.New("boom")}}, nil)
			conn := func(user string) *server.Conn {
				return w.as(user)
			}
			tools := func(user string) (string, string) {
				return listed(t, conn(user), "tools/list", "tools", "name")
			}
			names, raw := tools("ada")
			assert.Equal(t, names, "shared__verbatim up__adas up__same")
			assert.Assert(t, cmp.Contains(raw, "of ada"))
			assert.Assert(t, cmp.Contains(raw, `"ttlMs":0,"cacheScope":"private"`))
			names, raw = tools("bob")
			assert.Equal(t, names, "shared__verbatim up__same")
			assert.Assert(t, cmp.Contains(raw, "of bob"))
			names, _ = listed(t, conn("bob"), "resources/list", "resources", "uri")
			assert.Equal(t, names, "t://bob")

			for _, user := range []string{"eve", ""} {
				names, raw = tools(user)
				assert.Equal(t, names, "shared__verbatim", user)
				assert.Assert(t, cmp.Contains(raw, mcp.MetaPartial+`":["up"]`), user)
				_, err := call(t, conn(user), "shared__verbatim", "")
				assert.NilError(t, err)
				_, err = call(t, conn(user), "up__same", "")
				assert.Assert(t, cmp.ErrorContains(err, `server "up"`), user)
			}
			_, err := call(t, conn("eve"), "up__same", "")
			assert.ErrorContains(t, err, "the token of this user is refused")

			for user, want := range map[string]string{"ada": "of ada", "bob": "of bob"} {
				text, err := call(t, conn(user), "up__same", "")
				assert.NilError(t, err)
				assert.Assert(t, cmp.Contains(text, want))
			}
			_, err = call(t, conn("bob"), "up__adas", "")
			assert.ErrorContains(t, err, "Unknown tool: up__adas")
			text, err := request(t, conn("ada"), "resources/read", `"uri":"t://ada"`)
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(text, "of ada"))

			d := dispatch.Options{Logger: quiet,
				Missing: w.gateway.AwaitOperation}.New(catalog)
			run := func(user, operation string) dispatch.Envelope {
				return d.Dispatch(t.Context(), &dispatch.Call{Operation: operation,
					Arguments: []byte(`{}`), Confirmed: true, Principal: user})
			}
			for user, want := range map[string]string{"ada": "of ada", "bob": "of bob"} {
				e := run(user, "up.same")
				assert.Assert(t, e.Err == nil, "%v", e.Err)
				assert.Assert(t, cmp.Contains(string(e.JSON()), want))
			}
			e := run("bob", "up.adas")
			assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.NotFound, "%v", e.Err)

			// His lists are asked for again when they change, and when his connection has ended.
			addTool(t, servers["bob"], "later", "later")
			time.Sleep(settle)
			names, _ = tools("bob")
			assert.Equal(t, names, "shared__verbatim up__later up__same")
			names, _ = tools("ada")
			assert.Equal(t, names, "shared__verbatim up__adas up__same")
			servers["bob"].Remove(mcp.KindTool, "same")
			w.gateway.Manager().EndSession("bob")
			synctest.Wait()
			names, _ = tools("bob")
			assert.Equal(t, names, "shared__verbatim up__later")
			w.gateway.Manager().EndSession("ada")
			synctest.Wait()
			var all []string
			for _, op := range catalog.Operations() {
				all = append(all, op.Name())
			}
			assert.DeepEqual(t, all, []string{"shared.verbatim", "up.later"})
		})
	}
}

// Only the clients of a user are told when his lists change or end. That a connection has ended for
// lack of use they are not told: they would list again, and so use it for ever.
func TestChangesOfUsersLists(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		servers := w.tenants(gateway.Options{}, map[string]*tenant{
			"ada": {tools: map[string]string{"a": "a"}},
			"bob": {tools: map[string]string{"b": "b"}}},
			func(s *gateway.Upstream) { s.IdleStop = time.Minute })
		told := map[string]*atomic.Int64{}
		for _, user := range []string{"ada", "bob"} {
			told[user] = new(atomic.Int64)
			here, there := net.Pipe()
			w.serving.Go(func() {
				_ = w.downstream.Serve(
					context.WithValue(context.Background(), contextkey.Principal{}, user), there)
			})
			c, err := client.Options{Era: era, Logger: quiet,
				OnToolsChanged: func([]*mcp.Tool, error) { told[user].Add(1) }}.Connect(t.Context(),
				client.Stream(here))
			assert.NilError(t, err)
			defer func() { assert.Check(t, c.Close() == nil && c.Wait() == nil) }()
			assert.Equal(t, len(w.names(c)), 2)
		}
		time.Sleep(settle)
		before := told["ada"].Load()
		addTool(t, servers["bob"], "later", "later")
		time.Sleep(settle)
		assert.Assert(t, told["bob"].Load() > 0)
		assert.Equal(t, told["ada"].Load(), before)

		isUsed := func() bool {
			return slices.ContainsFunc(w.gateway.Manager().Status(),
				func(s host.Status) bool { return s.ID == "up" && s.Session != "" })
		}
		assert.Assert(t, isUsed())
		ofBob := told["bob"].Load()
		time.Sleep(5 * time.Minute)
		assert.Assert(t, !isUsed())
		assert.Equal(t, told["bob"].Load(), ofBob)
		for i, end := range []func(){
			func() { w.gateway.Manager().EndSession("bob") },
			func() { assert.NilError(t, w.gateway.Manager().Disable("up")) }} {
			listed(t, w.as("bob"), "tools/list", "tools", "name")
			assert.Assert(t, isUsed())
			ofBob = told["bob"].Load()
			end()
			time.Sleep(settle)
			assert.Assert(t, told["bob"].Load() > ofBob, "%d", i)
			assert.Equal(t, told["ada"].Load(), before, "%d", i)
		}
	})
}

// Definitions are compared with pins as each user sees them: what one user sees first is pinned
// then, and a definition that has changed is withheld from everybody.
func TestPinsOfUsers(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		servers := w.tenants(gateway.Options{PinFile: filepath.Join(t.TempDir(), "pins")},
			map[string]*tenant{"ada": {tools: map[string]string{"a": "first"}},
				"bob": {tools: map[string]string{"a": "first", "b": "b"}}}, nil)
		conn := func(user string) *server.Conn {
			return w.as(user)
		}
		names, _ := listed(t, conn("ada"), "tools/list", "tools", "name")
		assert.Equal(t, names, "shared__verbatim up__a")
		time.Sleep(time.Minute)
		names, _ = listed(t, conn("bob"), "tools/list", "tools", "name")
		assert.Equal(t, names, "shared__verbatim up__a up__b")
		addTool(t, servers["ada"], "a", "second")
		time.Sleep(settle)
		names, _ = listed(t, conn("ada"), "tools/list", "tools", "name")
		assert.Equal(t, names, "shared__verbatim")
		_, err := call(t, conn("ada"), "up__a", "")
		assert.Assert(t, err != nil)
		withheld := w.gateway.Withheld()["up"][0]
		assert.Equal(t, withheld.Reason, gateway.ReasonChanged)
		assert.Assert(t, withheld.OfUser)
	})
}
