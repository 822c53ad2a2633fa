package web

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A request to a model is answered by the sampler or by the user, whoever is first.
func TestSamplerBesideUser(t *testing.T) {
	byUser := json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"user"}`)
	type sampled struct {
		result *mcp.CreateMessageResult
		err    error
	}
	begin := func(t *testing.T, sampler func(context.Context) (string, error)) (*questions,
		<-chan sampled) {
		q := newQuestions(changes.New())
		q.callOn = func(string) int64 { return 0 }
		q.sampler = func(ctx context.Context, _ mcp.CreateMessageParams) (*mcp.CreateMessageResult,
			error) {
			model, err := sampler(ctx)
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: model,
				Content: []mcp.Content{mcp.Text("y")}}, err
		}
		done := make(chan sampled, 1)
		go func() {
			result, err := q.sample(t.Context(), "s", mcp.CreateMessageParams{})
			done <- sampled{result, err}
		}()
		synctest.Wait()
		return q, done
	}
	synctest.Test(t, func(t *testing.T) { // the sampler alone
		q, done := begin(t, func(context.Context) (string, error) { return "command", nil })
		got := <-done
		assert.NilError(t, got.err)
		assert.Equal(t, got.result.Model, "command")
		assert.Equal(t, len(q.list()), 0)
	})
	synctest.Test(t, func(t *testing.T) { // the user is faster, which ends the sampler
		ended := false
		q, done := begin(t, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			ended = true
			return "", ctx.Err()
		})
		assert.Equal(t, q.list()[0].Command, sampling)
		assert.NilError(t, q.respond(q.list()[0].ID, byUser, false))
		got := <-done
		assert.NilError(t, got.err)
		assert.Equal(t, got.result.Model, "user")
		assert.Assert(t, ended)
	})
	synctest.Test(t, func(t *testing.T) { // the sampler fails, and the user answers
		q, done := begin(t, func(context.Context) (string, error) {
			return "", errors.New("no model")
		})
		assert.Equal(t, q.list()[0].Command, "no model")
		assert.NilError(t, q.respond(q.list()[0].ID, byUser, false))
		got := <-done
		assert.NilError(t, got.err)
		assert.Equal(t, got.result.Model, "user")
	})
}

// Roots are answered without the user until the user sets others or wants to be asked.
func TestRootsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuestions(changes.New())
		q.callOn = func(string) int64 { return 0 }
		q.rootsOf = func(server string) []string {
			return map[string][]string{"p": {"file:///d"}}[server]
		}
		ask := func(server string) (roots []mcp.Root) {
			t.Helper()
			result, err := ask[mcp.ListRootsResult](t.Context(), q, server, mcp.MethodListRoots,
				nil)
			assert.NilError(t, err)
			return result.Roots
		}
		assert.DeepEqual(t, ask("p"), []mcp.Root{{URI: "file:///d"}})
		assert.DeepEqual(t, q.rootsFor("p"), []string{"file:///d"})
		q.setRoots("p", json.RawMessage(`{"roots":[{"uri":"file:///mine"}]}`))
		assert.DeepEqual(t, ask("p"), []mcp.Root{{URI: "file:///mine"}})
		assert.DeepEqual(t, q.rootsFor("p"), []string{"file:///mine"})
		q.setRoots("p", json.RawMessage(`{"roots":[]}`))
		assert.DeepEqual(t, q.rootsFor("p"), []string{}) // which the page shows
		q.forget("p")
		assert.Assert(t, q.rootsFor("p") == nil)
		assert.DeepEqual(t, ask("p"), []mcp.Root{{URI: "file:///d"}})

		q.setRoots("p", json.RawMessage("null")) // the user is asked
		assert.Assert(t, q.rootsFor("p") == nil)
		for _, server := range []string{"p", "other"} {
			asked := make(chan []mcp.Root, 1)
			go func() { asked <- ask(server) }()
			synctest.Wait()
			assert.NilError(t, q.respond(q.list()[0].ID, json.RawMessage(`{"roots":[]}`), false))
			assert.Equal(t, len(<-asked), 0)
		}
	})
}
