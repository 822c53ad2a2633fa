//go:build linux

package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Every revision: the handshake, the questions of the server that the revision supports, and the
// end of the session.
func TestEveryRevisionOverHTTP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.serve()
	for _, revision := range mcp.Supported() {
		t.Run(string(revision), func(t *testing.T) {
			w := newWire(t, s.tapped, revision)
			assert.Equal(t, w.revision, revision)
			assert.Equal(t, w.session == "", w.modern())
			tools, err := w.result(t.Context(), mcp.MethodListTools, "", "")
			assert.NilError(t, err)
			assert.Assert(t, strings.Contains(tools, `"test_simple_text"`))
			w.wants(t, "Done", "test_tool_with_progress", `{}`)
			w.wants(t, "2 roots", "test_input_required_result_list_roots", `{}`)
			w.wants(t, "Paris", "test_input_required_result_sampling", `{}`)
			if revision >= mcp.Rev20250618 {
				w.wants(t, "Hello, Ada!", "test_input_required_result_elicitation", `{}`)
			} else {
				_, err := w.call(t.Context(), "test_input_required_result_elicitation", `{}`)
				// a later feature, which must not be requested
				assert.ErrorContains(t, err, "elicitation")
			}
			if w.modern() {
				return
			}
			_, err = w.result(t.Context(), mcp.MethodPing, "", "")
			assert.NilError(t, err)
			r, err := w.send(t.Context(), "DELETE", "")
			assert.NilError(t, err)
			r.Body.Close()
			assert.Equal(t, r.StatusCode, http.StatusNoContent)
			assert.Equal(t, w.status(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
				http.StatusNotFound)
		})
	}
	b.checkServer("record")
	b.checkClient("record")
}

func (w *wire) status(t *testing.T, body string, header ...string) int {
	t.Helper()
	r, err := w.send(t.Context(), "POST", body, header...)
	assert.NilError(t, err)
	_, err = io.Copy(io.Discard, r.Body)
	assert.NilError(t, err)
	r.Body.Close()
	return r.StatusCode
}

// An unknown revision is negotiated down to the latest revision that has a handshake.
func TestNegotiationOverHTTP(t *testing.T) {
	s := newBench(t).serve()
	for _, asked := range []string{"1999-12-31", "2099-01-01", "", "2026-07-28"} {
		w := &wire{url: s.direct, http: http.DefaultClient}
		r, err := w.send(t.Context(), "POST",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,`+
				`"capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`, asked))
		assert.NilError(t, err)
		text, err := io.ReadAll(r.Body)
		assert.NilError(t, err)
		r.Body.Close()
		assert.Assert(t, strings.Contains(string(text), `"protocolVersion":"2025-11-25"`), "%q: %s",
			asked, text)
	}
}

// Only 2025-03-26 allows several messages in one body.
func TestBatchesOverHTTP(t *testing.T) {
	b := newBench(t)
	s := b.serve()
	const batch = `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},` +
		`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"test_input_required_result_list_roots"}},` +
		`{"jsonrpc":"2.0","id":"c","method":"tools/list"}]`
	for _, revision := range mcp.Supported() {
		if revision != mcp.Rev20250326 {
			assert.Equal(t, newWire(t, s.direct, revision).status(t, batch), http.StatusBadRequest,
				revision)
			continue
		}
		w := newWire(t, s.tapped, revision)
		r, err := w.send(t.Context(), "POST", batch)
		assert.NilError(t, err)
		defer r.Body.Close()
		// The server asks while it responds, so the response is a stream; the answers are a batch,
		// too.
		in := bufio.NewScanner(r.Body)
		in.Buffer(nil, 1<<20)
		var ids []string
		for in.Scan() {
			data, ok := strings.CutPrefix(in.Text(), "data: ")
			if !ok || data == "" {
				continue
			}
			if data[0] == '{' {
				var asked heard
				assert.NilError(t, json.Unmarshal([]byte(data), &asked))
				assert.NilError(t, w.answer(t.Context(), asked))
				continue
			}
			var answers []struct{ ID string }
			assert.NilError(t, json.Unmarshal([]byte(data), &answers))
			for _, a := range answers {
				ids = append(ids, a.ID)
			}
		}
		assert.NilError(t, in.Err())
		slices.Sort(ids)
		assert.DeepEqual(t, ids, []string{"a", "b", "c"})
	}
	b.checkServer("record")
}

// Concurrent clients of all revisions use the same ids: each gets its own responses.
func TestErasInterleaved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.serve()
	var group sync.WaitGroup
	for n := range 15 {
		revision := mcp.Supported()[n%len(mcp.Supported())]
		group.Go(func() {
			if err := interleaved(t.Context(), s.tapped, revision,
				fmt.Sprintf("client%d", n)); err != nil {
				t.Errorf("%s: %v", revision, err)
			}
		})
	}
	group.Wait()
	b.checkServer("record")
	b.checkClient("record")
}

func interleaved(ctx context.Context, url string, revision mcp.Revision, name string) error {
	w, err := connectWire(ctx, url, revision)
	if err != nil {
		return err
	}
	defer w.http.CloseIdleConnections()
	w.answers[mcp.MethodElicit] = fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, name)
	w.answers[mcp.MethodCreateMessage] = fmt.Sprintf(
		`{"role":"assistant","model":"none","content":{"type":"text","text":%q}}`, name)
	steps := []struct{ tool, arguments, want string }{
		{"greet", fmt.Sprintf(`{"name":%q}`, name), "Hello, " + name + "!"},
		{"test_input_required_result_sampling", `{}`, name},
		{"test_tool_with_progress", `{}`, "Done"},
	}
	if revision >= mcp.Rev20250618 {
		steps = append(steps,
			struct{ tool, arguments, want string }{"test_input_required_result_elicitation", `{}`,
				"Hello, " + name + "!"})
	}
	var group sync.WaitGroup
	errs := make([]error, 4)
	for lane := range errs {
		group.Go(func() {
			for round := range 5 {
				step := steps[(lane+round)%len(steps)]
				if got, err := w.call(ctx, step.tool, step.arguments); err != nil ||
					got != step.want {
					errs[lane] = fmt.Errorf("%s: %q, not %q: %w", step.tool, got, step.want, err)
				}
			}
		})
	}
	_, err = w.result(ctx, mcp.MethodListTools, "", "")
	group.Wait()
	return errors.Join(append(errs, err)...)
}

// A client cannot answer the questions to another, and unexpected responses have no effect.
func TestAnswersBelongToTheirSession(t *testing.T) {
	s := newBench(t).serve()
	victim, other := newWire(t, s.direct, mcp.Rev20251125), newWire(t, s.direct, mcp.Rev20251125)
	r, err := victim.request(t.Context(), mcp.MethodCallTool, "",
		`"name":"test_input_required_result_list_roots"`)
	assert.NilError(t, err)
	defer r.Body.Close()
	for m, err := range messages(r) {
		assert.NilError(t, err)
		switch {
		case m.Method == mcp.MethodListRoots:
			// The ids of both sessions begin alike.
			assert.NilError(t,
				other.post202(t.Context(),
					fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, m.ID)))
			for _, id := range []string{`"x"`, `77`, `-1`} {
				assert.NilError(t,
					victim.post202(t.Context(),
						fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, id)))
			}
			assert.NilError(t, victim.answer(t.Context(), m))
		case m.Result != nil:
			assert.Assert(t, strings.Contains(string(m.Result), "2 roots"), "%s", m.Result)
			return
		}
	}
	t.Fatal(errUnanswered)
}

// The stream of a call is closed after each of its events in turn, and resumed. Together the parts
// equal the whole stream.
func TestResumptionAfterEveryEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.serve()
	w := newWire(t, s.tapped, mcp.Rev20251125)
	for after := 1; after <= 5; after++ {
		// the event with the first id, three reports of progress, and the response
		r, err := w.request(t.Context(), mcp.MethodCallTool, "", `"name":"test_tool_with_progress"`)
		assert.NilError(t, err)
		var got []string
		read := func(most int) (last string) {
			for m, err := range messages(r) {
				if err != nil {
					break // cut
				}
				got = append(got, strings.TrimPrefix(m.Method, "notifications/"))
				if last = m.event; len(got) == most {
					break
				}
			}
			r.Body.Close()
			return last
		}
		last := read(after)
		assert.Equal(t, len(got), after)
		s.cut()
		r, err = w.send(t.Context(), "GET", "", "Last-Event-ID", last)
		assert.NilError(t, err)
		if after < 5 {
			assert.Equal(t, r.StatusCode, http.StatusOK)
		}
		read(5)
		assert.DeepEqual(t, got, []string{"", "progress", "progress", "progress", ""})
	}
	b.wellSaid("record")
}

// wellSaid is checkServer for a record that need not contain a list of tools.
func (b *bench) wellSaid(record string) {
	b.t.Helper()
	if schemas := conformance.OpenSchemas(); schemas != nil {
		checked, err := schemas.CheckServer(b.path(record))
		assert.NilError(b.t, err)
		assert.Assert(b.t, len(checked) > 0)
	}
}
