package streamable_test

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Tools whose arguments cannot be mirrored into headers are left out, wherever they are on a page,
// and nothing else is.
func TestUnusableTools(t *testing.T) {
	const (
		good = `{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`
		bad  = `{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"no name"}}}}`
		none = `{"name":"none","inputSchema":{"type":"object"}}`
	)
	for page, want := range map[string][]string{
		good + "," + bad: {"good"},
		bad + "," + good + "," + bad + "," + none: {"good", "none"},
		bad: nil,
	} {
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			answerJSON(w, r, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`+
				page+`]}`)
		}), func(t *testing.T, s *testServer) {
			var got, defined []string
			c := s.connect(t, client.Options{})
			for tool, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
				got = append(got, tool.Name)
			}
			assert.DeepEqual(t, got, want)
			for text, err := range c.Integration().Definitions(t.Context(), mcp.KindTool) {
				assert.NilError(t, err)
				defined = append(defined, string(text))
			}
			assert.Equal(t, strings.Join(defined, ","),
				strings.Trim(strings.ReplaceAll(strings.ReplaceAll(","+page+",", ","+bad, ""), bad,
					""), ","))
		})
	}
}
