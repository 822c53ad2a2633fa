//go:build linux

package conformance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// refusal posts a body, and returns the status of the response, and the code and the id of the
// error in it.
func (w *wire) refusal(t *testing.T, body string, header ...string) (status, code int, id string) {
	t.Helper()
	if w.modern() {
		header = append([]string{"Mcp-Method", mcp.MethodCallTool, "Mcp-Name", "greet"}, header...)
	}
	r, err := w.send(t.Context(), "POST", body, header...)
	assert.NilError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	assert.NilError(t, err)
	var answer struct {
		JSONRPC string
		ID      json.RawMessage
		Result  json.RawMessage
		Error   struct {
			Code    int
			Message string
		}
	}
	if len(text) > 0 {
		assert.NilError(t, json.Unmarshal(text, &answer), "%.200q: %.200q", body, text)
		assert.Equal(t, answer.JSONRPC, "2.0", "%.200q: %.200q", body, text)
		assert.Assert(t, (answer.Result != nil) != (answer.Error.Message != ""), "%.200q: %.200q",
			body, text)
	}
	return r.StatusCode, answer.Error.Code, string(answer.ID)
}

func brokenCall(modern bool) string {
	meta := ""
	if modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return `{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}` +
		meta + `}}`
}

// Bodies that are truncated or damaged at every place, in both eras: each is refused with the
// correct error, and the connection continues.
func TestBrokenBodiesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve()
	for _, revision := range []mcp.Revision{mcp.Rev20251125, mcp.Latest} {
		t.Run(string(revision), func(t *testing.T) {
			w := newWire(t, s.direct, revision)
			whole := brokenCall(w.modern())
			status, _, id := w.refusal(t, whole)
			assert.Equal(t, status, http.StatusOK)
			assert.Equal(t, id, `"é"`)
			for i := range len(whole) {
				status, code, id := w.refusal(t, whole[:i])
				assert.Equal(t, fmt.Sprintf("%d %d %s", status, code, id), "400 -32700 null", "%q",
					whole[:i])
				for _, other := range []string{`"`, "{", "}", "[", "]", ":", ",", `\`, "\x00",
					"\x80", "\n", "1", "e"} {
					body := whole[:i] + other + whole[i+1:]
					status, _, _ := w.refusal(t, body)
					assert.Assert(t, status < 500, "%q: %d", body, status)
				}
			}
			for _, c := range []struct {
				body, header string
				want         string
			}{
				// An error before the message was parsed has no id.
				{"null", "", "400 -32600 null"},
				{"[]", "", "400 -32600 null"},
				{"[1]", "", "400 -32600 "},
				{"\xef\xbb\xbf" + whole, "", `200 0 "é"`},
				{"\xef\xbb\xbf\xef\xbb\xbf" + whole, "", "400 -32700 null"},
				{whole + whole, "", "400 -32700 null"},
				{strings.Repeat("[", 1<<20), "", "400 -32700 null"},
				{strings.Repeat(`{"a":`, 1<<18), "", "400 -32700 null"},
				{"[" + strings.Repeat(whole+",", 200) + whole + "]", "", "400 -32600 null"},
				{strings.Replace(whole, `"id":"é"`, `"id":"é","id":"e"`, 1), "", `400 -32600 "é"`},
				{strings.Replace(whole, `"id":"é"`, `"id":{}`, 1), "", "400 -32600 null"},
				{strings.Replace(whole, `"2.0"`, `"1.0"`, 1), "", `400 -32600 "é"`},
				{strings.Replace(whole, `"params":{`, `"params":[`, 1), "", "400 -32700 null"},
				{strings.Replace(whole, `Ada`, strings.Repeat("A", 5<<20), 1), "", "413 -32600 "},
				{whole, "Content-Type: text/plain", "415 -32600 "},
				{whole, "Content-Type: Application/JSON; charset=utf-8", `200 0 "é"`},
				{whole, "Content-Encoding: gzip", "415 -32600 "},
				{whole, "Accept: text/html", "406 -32600 "},
			} {
				name, value, _ := strings.Cut(c.header, ": ")
				var header []string
				if name != "" {
					header = []string{name, value}
				}
				status, code, id := w.refusal(t, c.body, header...)
				if got := fmt.Sprintf("%d %d %s", status, code, id); got != c.want {
					t.Errorf("%.120q %s: %s, not %s", c.body, c.header, got, c.want)
				}
			}
			w.wants(t, "Hello, Ada!", "greet", `{"name":"Ada"}`)
		})
	}
}
