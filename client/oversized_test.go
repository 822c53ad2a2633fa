package client

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A definition over the limits is omitted and logged, and the others are listed.
func TestOversizedDefinitionIsLeftOut(t *testing.T) {
	tool := func(name, schema string) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object",%s}}`, name, schema)
	}
	nested := func(n int) string {
		return `"not":` + strings.Repeat(`{"not":`, n-3) + "{}" + strings.Repeat("}", n-3)
	}
	for reason, list := range map[string]string{
		"at most 1048576 are allowed": tool("a", `"title":"`+strings.Repeat("x", 1<<20)+
			`"`),
		"it has 20003 objects": tool("a", `"anyOf":[`+
			strings.TrimSuffix(strings.Repeat("{},", 20_000+1), ",")+`]`),
		"it is nested 201 deep": tool("a", nested(200+1)),
		"":                      tool("a", nested(200)+`,"title":"{{{\"[["`),
	} {
		var log bytes.Buffer
		lists := 0
		c := connect(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			toolServer(list+`,`+tool("b", `"title":"b"`), fits, &lists))
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			assert.NilError(t, err)
			names = append(names, tool.Name)
		}
		texts := 0
		for _, err := range c.Integration().Definitions(t.Context(), mcp.KindTool) {
			assert.NilError(t, err)
			texts++
		}
		if reason == "" {
			assert.DeepEqual(t, names, []string{"a", "b"})
			assert.Equal(t, log.String(), "")
			continue
		}
		assert.DeepEqual(t, names, []string{"b"})
		assert.Equal(t, texts, 1)
		assert.Assert(t,
			cmp.Contains(log.String(), `a definition is left out" list=tools name=a reason=`))
		assert.Assert(t, cmp.Contains(log.String(), reason))
	}
}
