package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// own opens a gateway to a server with host.PerSession. live returns the number of its processes
// for sessions.
func (w *fixture) own(change func(*gateway.Upstream)) (live func() int) {
	s := w.server("up", w.era)
	s.Sharing = host.PerSession
	var mu sync.Mutex
	n := 0
	connect := s.Connect
	s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
		error) {
		c, err := connect(ctx, session, o)
		if err == nil && session != "" {
			mu.Lock()
			n++
			mu.Unlock()
			w.serving.Go(func() {
				<-c.Done()
				mu.Lock()
				n--
				mu.Unlock()
			})
		}
		return c, err
	}
	if change != nil {
		change(&s)
	}
	w.reopen(gateway.Options{}, s)
	return func() int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// Each client has its own process, which ends with the client.
func TestPerSession(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		live := w.own(nil)
		isCall := func(c *client.Client) {
			t.Helper()
			_, err := c.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
		}
		w.client(client.Options{Era: era}, func(a *client.Client) {
			assert.Equal(t, live(), 0, "it has not been used")
			isCall(a)
			isCall(a)
			assert.Equal(t, live(), 1)
			w.client(client.Options{Era: era}, func(b *client.Client) {
				isCall(b)
				assert.Equal(t, live(), 2)
			})
			time.Sleep(time.Second)
			assert.Equal(t, live(), 1)
			isCall(a)
		})
		time.Sleep(time.Second)
		assert.Equal(t, live(), 0)
	})
}

// Changes of the lists of one client's process do not change the offered lists.
func TestPerSessionLists(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		nothing := func(context.Context, json.RawMessage) (json.RawMessage,
			error) {
			return text("x"), nil
		}
		mine := server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"},
			dispatch.NewCatalog())
		assert.NilError(t,
			mine.Integration().AddItem(forwarded(mcp.Tool{Name: "verbatim"}, nothing)))
		w.own(func(s *gateway.Upstream) {
			shared := s.Connect
			s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
				error) {
				if session == "" {
					return shared(ctx, session, o)
				}
				return o.Connect(ctx, w.pipe(mine))
			}
		})
		w.client(client.Options{Era: era}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
			time.Sleep(5 * time.Second)
			assert.NilError(t,
				mine.Integration().AddItem(forwarded(mcp.Tool{Name: "secret"}, nothing)))
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			w.add("another", nothing)
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"up__another", "up__verbatim"})
		})
	})
}

// The process of a client that disconnects while the process starts, runs a call or waits for an
// answer ends.
func TestPerSessionDisconnect(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		began := make(chan struct{}, 1)
		w.add("hold", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		w.add("ask", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			_, err := server.Elicit(ctx, "k",
				mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"a":{"type":"string"}}}`)})
			return text("x"), err
		})
		live := w.own(func(s *gateway.Upstream) {
			connect := s.Connect
			s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
				error) {
				time.Sleep(3 * time.Second)
				return connect(ctx, session, o)
			}
		})
		o := client.Options{Era: era,
			OnElicit: func(ctx context.Context, _ mcp.ElicitParams) (*mcp.ElicitResult, error) {
				began <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		for _, tool := range []string{"up__hold", "up__ask"} {
			for _, early := range []bool{true, false} {
				var calling sync.WaitGroup
				w.client(o, func(c *client.Client) {
					calling.Go(func() {
						_, err := c.CallTool(t.Context(), tool, nil)
						assert.Check(t, err != nil)
					})
					if early {
						time.Sleep(time.Second)
						return
					}
					<-began
					assert.Equal(t, live(), 1)
				})
				calling.Wait()
				time.Sleep(10 * time.Second)
				assert.Equal(t, live(), 0)
				for _, s := range w.gateway.Manager().Status() {
					assert.Equal(t, s.Session, "")
				}
			}
		}
	})
}

// The error of a further session names the limit.
func TestPerSessionLimit(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.own(func(s *gateway.Upstream) { s.MaxSessions = 1 })
		w.client(client.Options{Era: era}, func(a *client.Client) {
			_, err := a.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
			w.client(client.Options{Era: era}, func(b *client.Client) {
				_, err := b.CallTool(t.Context(), "up__verbatim", nil)
				assert.ErrorContains(t, err,
					`server "up": too many sessions have a server of their own: the maximum is 1`)
			})
			_, err = a.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
		})
		time.Sleep(time.Second)
		w.client(client.Options{Era: era}, func(b *client.Client) {
			_, err := b.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
		})
	})
}

// A client's process gets the roots of that client only, and only that client gets its logs.
func TestPerSessionRootsAndLogs(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		w.own(nil)
		var mu sync.Mutex
		conns := map[string]*server.Conn{} // by the roots of the client
		defer w.up.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
			if e != server.ClientReady {
				return
			}
			go func() {
				time.Sleep(time.Second) // after the end of the call
				roots, err := c.Roots(context.Background())
				assert.Check(t, err == nil, "%v", err)
				mu.Lock()
				defer mu.Unlock()
				conns[uris(roots)] = c
			}()
		})()
		var logs [2]logbook
		var both sync.WaitGroup
		for i := range logs {
			both.Go(func() {
				o := logs[i].options(mcp.Legacy, mcp.LevelDebug)
				o.Roots = rooted(fmt.Sprint(i))
				w.client(o, func(c *client.Client) {
					_, err := c.CallTool(t.Context(), "up__verbatim", nil)
					assert.Check(t, err == nil, "%v", err)
					time.Sleep(time.Minute)
				})
			})
		}
		time.Sleep(30 * time.Second)
		mu.Lock()
		assert.Equal(t, len(conns), 3, "%v", conns) // the gateway's own client has none
		for i := range logs {
			assert.NilError(t,
				conns[fmt.Sprint(i)].Log(t.Context(),
					mcp.LoggingMessageParams{Level: mcp.LevelError,
						Data: fmt.Appendf(nil, "%d", i)}))
		}
		_ = conns[""].Log(t.Context(),
			mcp.LoggingMessageParams{Level: mcp.LevelError, Data: json.RawMessage(`9`)})
		mu.Unlock()
		time.Sleep(time.Second)
		for i := range logs {
			assert.Equal(t, logs[i].took(), fmt.Sprintf("error up %d", i))
		}
		both.Wait()
	})
}

// Modern clients over HTTP with the same principal may answer each other's questions. Other
// principals, and sessions of the same principal, may not.
func TestPrincipalsAndSessions(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		w.add("ask", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			answer, err := server.Elicit(ctx, "k",
				mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"a":{"type":"string"}}}`)})
			if err != nil {
				return nil, err
			}
			return text("%s", answer.Content), nil
		})
		w.reopen(gateway.Options{}, w.server("up", w.era))
		modern := func(c *server.Conn, arguments string) (string,
			error) {
			return call(t, c, "up__ask", arguments)
		}
		ada, session, bob := w.as("ada"),
			w.downstream.Integration().NewConn(t.Context(), server.ConnOptions{Principal: "ada"}),
			w.as("bob")
		defer session.Close()
		asked, err := modern(ada, "")
		assert.NilError(t, err)
		state := string(member(t, asked, "requestState"))
		key := strings.Split(string(member(t, asked, "inputRequests")), `"`)[1]
		answer := fmt.Sprintf(
			`,"requestState":%s,"inputResponses":{"%s":{"action":"accept","content":{"a":"b"}}}`,
			state, key)
		_, err = modern(bob, answer)
		assert.ErrorContains(t, err, "requestState was not made for this request")
		_, err = modern(session, answer)
		assert.ErrorContains(t, err, "The call that asked has ended",
			"the principal alone does not do")
		got, err := modern(w.as("ada"), answer)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(got, `{\"a\":\"b\"}`), got)
	})
}

// Requests without a session, as of modern clients over HTTP and callers of operations, cannot use
// a server with host.PerSession and do not see its items.
func TestPerSessionWithoutSession(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.readable()
		w.second("shared")
		c := dispatch.NewCatalog()
		s := w.server("up", w.era)
		starts := new(atomic.Int64)
		connect := s.Connect
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			if session != "" {
				starts.Add(1)
			}
			return connect(ctx, session, o)
		}
		s.Sharing = host.PerSession
		w.reopen(gateway.Options{Catalog: c}, s)
		w.second("shared")
		const why = `server "up" has a process for each client, and the request has no session: `
		for _, principal := range []string{"", "ada", "ada"} {
			conn := w.as(principal)
			_, err := call(t, conn, "up__verbatim", "")
			assert.Check(t, cmp.ErrorContains(err, why))
			_, err = request(t, conn, "resources/read", `"uri":"mem://a"`)
			assert.Check(t, cmp.ErrorContains(err, why))
			_, err = request(t, conn, "resources/read", `"uri":"mem://all/1"`)
			assert.Check(t, cmp.ErrorContains(err, why))
			_, err = request(t, conn, "prompts/get", `"name":"up__greet","arguments":{"who":"a"}`)
			assert.Check(t, cmp.ErrorContains(err, why))
			_, err = request(t, conn, "completion/complete",
				`"ref":{"type":"ref/prompt","name":"up__greet"},"argument":{"name":"who","value":""}`)
			assert.Check(t, cmp.ErrorContains(err, why))
			_, err = call(t, conn, "shared__who", "")
			assert.Check(t, err)
			for method, want := range map[string]string{"tools/list": "shared__who",
				"resources/list": "", "resources/templates/list": "", "prompts/list": ""} {
				got, err := request(t, conn, method, "")
				assert.Check(t, err)
				assert.Check(t, !strings.Contains(got, "up__") &&
					!strings.Contains(got, "mem://") && strings.Contains(got, want), got)
			}
		}
		d := dispatch.Options{Logger: quiet}.New(c)
		e := d.Dispatch(t.Context(),
			&dispatch.Call{Operation: "up.verbatim", Arguments: json.RawMessage(`{}`),
				Confirmed: true, Principal: "ada"})
		if assert.Check(t, e.Err != nil) {
			assert.Check(t, cmp.Equal(e.Err.Code, dispatch.StateError))
			assert.Check(t, cmp.ErrorContains(e.Err, why))
		}
		session := w.downstream.Integration().NewConn(t.Context(),
			server.ConnOptions{Principal: "ada"})
		defer session.Close()
		_, err := call(t, session, "up__verbatim", "")
		assert.Check(t, err)
		got, err := request(t, session, "tools/list", "")
		assert.Check(t, err)
		assert.Check(t, strings.Contains(got, "up__verbatim"), got)
		assert.Check(t, cmp.Equal(starts.Load(), int64(1)))
	})
}

// call calls a tool as [request] does.
func call(t *testing.T, c *server.Conn, tool, members string) (string, error) {
	t.Helper()
	return request(t, c, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{}%s`, tool, members))
}

// request makes a modern request, as a transport without connections does, and returns its result.
func request(t *testing.T, c *server.Conn, method, params string) (string, error) {
	t.Helper()
	if params != "" {
		params += ","
	}
	m, err := rpc.ParseMessage(
		fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
			method, params))
	assert.NilError(t, err)
	response, err := rpc.AppendResponse(t.Context(), nil,
		func(ctx context.Context, req *rpc.Request) (any, error) {
			return c.Handle(ctx, req, nil)
		}, m.Request())
	if err != nil {
		return "", err
	}
	return string(member(t, string(response), "result")), nil
}

func member(t *testing.T, object, name string) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal([]byte(object), &members), object)
	return members[name]
}
