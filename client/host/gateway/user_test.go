package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
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

// Each user has one connection, whatever his sessions; lists come from one without a user. A caller
// without a principal can use nothing, and sees why.
func TestPerUser(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.readable()
		catalog := dispatch.NewCatalog()
		made := w.perUser(gateway.Options{Catalog: catalog}, nil)
		for _, user := range []string{"ada", "bob", "ada"} {
			conn := w.downstream.Integration().Stateless(user)
			_, err := call(t, conn, "up__verbatim", "")
			assert.NilError(t, err)
			_, err = request(t, conn, "resources/read", `"uri":"mem://a"`)
			assert.NilError(t, err)
			session := w.downstream.Integration().NewConn(t.Context(), nil, user)
			_, err = call(t, session, "up__verbatim", "")
			assert.NilError(t, err)
			session.Close() // does not end what belongs to the user
		}
		d := dispatch.NewDispatcher(catalog, dispatch.Options{Logger: quiet})
		e := d.Dispatch(t.Context(), &dispatch.Call{Operation: "up.verbatim",
			Arguments: []byte(`{}`), Confirmed: true, Principal: "bob"})
		assert.Assert(t, e.Err == nil, "%v", e.Err)
		assert.DeepEqual(t, made.starts, map[string]int{"": 1, "ada": 1, "bob": 1})

		nobody := w.downstream.Integration().Stateless("")
		const why = `server "up" is called with the credentials of each user, and the caller of ` +
			`this request is unknown: `
		for method, params := range map[string]string{
			"tools/call":     `"name":"up__verbatim","arguments":{}`,
			"resources/read": `"uri":"mem://a"`, "prompts/get": `"name":"up__greet","arguments":{"who":"a"}`,
			"completion/complete": `"ref":{"type":"ref/prompt","name":"up__greet"},` +
				`"argument":{"name":"who","value":""}`} {
			_, err := request(t, nobody, method, params)
			assert.Check(t, cmp.ErrorContains(err, why), method)
		}
		e = d.Dispatch(t.Context(), &dispatch.Call{Operation: "up.verbatim",
			Arguments: []byte(`{}`), Confirmed: true})
		if assert.Check(t, e.Err != nil) {
			assert.Check(t, cmp.Equal(e.Err.Code, dispatch.StateError))
			assert.Check(t, errors.Is(e.Err, gateway.ErrNoUser))
		}
		assert.DeepEqual(t, made.starts, map[string]int{"": 1, "ada": 1, "bob": 1})
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
		ada := w.downstream.Integration().Stateless("ada")
		_, err := call(t, ada, "up__verbatim", "")
		assert.NilError(t, err)
		known := made.known["ada of up"]
		assert.Equal(t, known(), token{"first"})
		tokens["ada"] = "second"
		_, err = call(t, ada, "up__verbatim", "")
		assert.NilError(t, err)
		assert.Equal(t, known(), token{"second"})
		assert.Equal(t, made.startsOf("ada of up"), 1)
		assert.Equal(t, made.known[""](), nil, "the connection of the lists is nobody's")
		_, err = call(t, w.downstream.Integration().Stateless("bob"), "up__verbatim", "")
		assert.ErrorContains(t, err, `server "up" needs a token of bob`)
		_, err = call(t, w.downstream.Integration().Stateless("boom"), "up__verbatim", "")
		assert.ErrorContains(t, err, "gateway: ", "an internal error")
		assert.Equal(t, len(made.starts), 2)
	})
}

// The connection of a user ends when it is unused, and gives way to that of another user.
func TestPerUserLimit(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		made := w.perUser(gateway.Options{}, func(s *gateway.Upstream) {
			s.MaxSessions, s.IdleStop = 2, time.Minute
		})
		for i, user := range []string{"a", "b", "c", "b", "a"} {
			_, err := call(t, w.downstream.Integration().Stateless(user), "up__verbatim", "")
			assert.NilError(t, err, "%d", i)
			time.Sleep(time.Second)
		}
		assert.DeepEqual(t, made.starts, map[string]int{"": 1, "a": 2, "b": 1, "c": 1})
		time.Sleep(2 * time.Minute)
		for _, s := range w.gateway.Manager().Status() {
			assert.Equal(t, s.Session, "")
		}
	})
}
