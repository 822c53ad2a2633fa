package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The operation of a tool whose definition differs between users shows nobody that of another one,
// whoever has left.
func TestOperationsShowNoOtherUser(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		catalog := dispatch.NewCatalog()
		w.tenants(gateway.Options{Catalog: catalog}, map[string]*tenant{
			"ada": {tools: map[string]string{"same": "secret of ada", "equal": "of all"}},
			"bob": {tools: map[string]string{"same": "secret of bob", "equal": "of all"}},
			"cyd": {tools: map[string]string{"same": "secret of cyd"}}}, nil)
		shown := func(name string) string {
			op, ok := catalog.Lookup(name)
			assert.Assert(t, ok)
			return fmt.Sprintf("%+v", op.Spec())
		}
		for _, user := range []string{"ada", "bob", "cyd"} {
			listed(t, w.as(user), "tools/list", "tools", "name")
			assert.Equal(t, strings.Contains(shown("up.same"), "secret"), user == "ada")
		}
		assert.Assert(t, cmp.Contains(shown("up.same"), `The tool "same" of the server "up".`))
		assert.Assert(t, cmp.Contains(shown("up.equal"), "of all"))
		w.gateway.Manager().EndSession("bob")
		synctest.Wait()
		assert.Assert(t, !strings.Contains(shown("up.same"), "secret"))
	})
}

// A call of an operation that only its caller has is answered whether or not his lists are known
// when it comes, and says why they are not there.
func TestOperationBeforeLists(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		catalog := dispatch.NewCatalog()
		w.tenants(gateway.Options{Catalog: catalog}, map[string]*tenant{
			"ada": {tools: map[string]string{"a": "of ada"}},
			"eve": {fails: errors.New("boom")}}, nil)
		d := dispatch.Options{Logger: quiet,
			Missing: w.gateway.AwaitOperation}.New(catalog)
		run := func(user, operation string) dispatch.Envelope {
			return d.Dispatch(context.WithValue(t.Context(), contextkey.Principal{}, user),
				&dispatch.Call{Operation: operation, Arguments: []byte(`{}`), Confirmed: true,
					Principal: user})
		}
		for range 2 {
			e := run("ada", "up.a")
			assert.Check(t, e.Err == nil, "%v", e.Err)
			assert.Check(t, cmp.Contains(string(e.JSON()), "of ada"))
			w.gateway.Manager().EndSession("ada")
			synctest.Wait()
		}
		e := run("ada", "up.other")
		assert.Check(t, e.Err != nil && e.Err.Code == dispatch.UnknownOperation, "%v", e.Err)
		w.gateway.Manager().EndSession("ada") // no list has the operation
		synctest.Wait()
		for user, want := range map[string]string{"eve": "the token of this user is refused",
			"": "the caller of this request is unknown"} {
			e := run(user, "up.a")
			assert.Check(t, e.Err != nil && strings.Contains(e.Err.Error(), want), "%v", e.Err)
		}
	})
}

// What shows all operations waits once for the lists of a caller, not once for each operation.
func TestOperationsOfUserWhoWaits(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		catalog, tools := dispatch.NewCatalog(), map[string]string{}
		for i := range 5 {
			tools[fmt.Sprint("tool", i)] = "of ada"
		}
		w.tenants(gateway.Options{Catalog: catalog}, map[string]*tenant{"ada": {tools: tools}},
			func(s *gateway.Upstream) {
				connect := s.Connect
				s.Connect = func(ctx context.Context, user string, o client.Options) (
					*client.Client, error) {
					if user == "slow" {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return connect(ctx, user, o)
				}
			})
		as := func(user string) context.Context {
			return context.WithValue(t.Context(), contextkey.Principal{}, user)
		}
		w.gateway.AwaitCaller(as("ada"))
		began := time.Now()
		w.gateway.AwaitCaller(as("slow"))
		shown := 0
		for _, op := range catalog.Operations() {
			assert.Check(t, w.gateway.OffersOperation(as("ada"), op.Name()))
			if w.gateway.OffersOperation(as("slow"), op.Name()) {
				shown++
			}
		}
		assert.Equal(t, shown, 1) // that of the server that shows all the same
		assert.Equal(t, time.Since(began), 5*time.Second)
	})
}

// The first call of a user, for which the operation of another one was looked up before his lists
// came, keeps to the hints of his own tool.
func TestFirstCallOfUserWithOtherHints(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		ada, bob  *mcp.ToolAnnotations
		confirmed bool
		want      string // the code and a part of the message of the first call
		ends      bool   // the server ends during a call
		calls     int    // of the tool, after one more if the operation has changed
	}{
		"reads, destroys": {&mcp.ToolAnnotations{ReadOnlyHint: &yes},
			&mcp.ToolAnnotations{DestructiveHint: &yes}, true,
			"state_error: The operation has changed: call it again.", false, 1},
		"reads, adds": {&mcp.ToolAnnotations{ReadOnlyHint: &yes},
			&mcp.ToolAnnotations{DestructiveHint: &no}, false,
			"state_error: The operation has changed: call it again.", false, 1},
		"adds, destroys": {&mcp.ToolAnnotations{DestructiveHint: &no},
			&mcp.ToolAnnotations{DestructiveHint: &yes}, false,
			`confirmation_required: The tool "act" of the server "up" may be destructive.`,
			false, 0},
		"repeats, adds": {&mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: &yes},
			&mcp.ToolAnnotations{DestructiveHint: &no}, false, "upstream_error: ", true, 1},
		"adds, repeats": {&mcp.ToolAnnotations{DestructiveHint: &no},
			&mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: &yes}, false,
			"upstream_error: ", true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
				catalog := dispatch.NewCatalog()
				var bobs *client.Client
				servers := w.tenants(gateway.Options{Catalog: catalog},
					map[string]*tenant{"ada": {}, "bob": {}}, func(s *gateway.Upstream) {
						connect := s.Connect
						s.Connect = func(ctx context.Context, user string, o client.Options) (
							*client.Client, error) {
							c, err := connect(ctx, user, o)
							if user == "bob" {
								bobs = c
							}
							return c, err
						}
					})
				calls := 0
				offer := func(user string, a *mcp.ToolAnnotations,
					f func(context.Context, json.RawMessage) (json.RawMessage, error)) {
					assert.NilError(t, servers[user].Integration().AddItem(
						forwarded(mcp.Tool{Name: "act", Annotations: a}, f)))
				}
				offer("ada", tc.ada, gives(`{"content":[]}`))
				offer("bob", tc.bob, func(context.Context, json.RawMessage) (json.RawMessage, error) {
					if calls++; tc.ends {
						bobs.Close()
					}
					return json.RawMessage(`{"content":[]}`), nil
				})
				listed(t, w.as("ada"), "tools/list", "tools", "name")
				d := dispatch.Options{Logger: quiet}.New(catalog)
				run := func() *dispatch.Error {
					return d.Dispatch(context.WithValue(t.Context(), contextkey.Principal{}, "bob"),
						&dispatch.Call{Operation: "up.act", Arguments: []byte(`{}`),
							Confirmed: tc.confirmed, Principal: "bob"}).Err
				}
				err := run()
				assert.Assert(t, err != nil)
				assert.Assert(t, cmp.Contains(string(err.Code)+": "+err.Message, tc.want))
				if err.Code == dispatch.StateError {
					run()
				}
				assert.Equal(t, calls, tc.calls)
			})
		})
	}
}
