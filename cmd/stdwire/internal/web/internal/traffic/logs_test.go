package traffic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
)

func TestLogs(t *testing.T) {
	traffic := New(changes.New())
	log := func(params string) string {
		return `←{"jsonrpc":"2.0","method":"notifications/message","params":` + params + `}`
	}
	recordFrames(traffic, "a", log(`{"level":"debug","logger":"db.Pool","data":"Opened"}`),
		log(`{"level":"error","logger":"http","data":{"path":"/x","why":"REFUSED"}}`),
		log(`{"level":"loud","data":1}`), log(`7`),
		`←{"jsonrpc":"2.0","method":"notifications/other","params":{"level":"error"}}`)
	recordFrames(traffic, "b", log(`{"level":"warning","data":null}`))
	for query, want := range map[string]string{
		"":                      "6 4 3 2 1",
		"level=info":            "6 2",
		"level=error":           "2",
		"server=a&level=debug":  "2 1",
		"logger=pool":           "1",
		"text=refused":          "2",
		"text=refused&logger=d": "",
	} {
		f, err := NewLogFilter(mustRequest(t, "/api/logs?"+query))
		assert.NilError(t, err)
		var numbers []string
		for _, line := range traffic.Logs(f).Lines {
			numbers = append(numbers, fmt.Sprint(line.N))
		}
		assert.Equal(t, strings.Join(numbers, " "), want, query)
	}
	for range maxLogLines + 1 {
		recordFrames(traffic, "c", log(`{"level":"info","data":"x"}`))
	}
	page := traffic.Logs(logFilter{server: "c"})
	assert.Equal(t, len(page.Lines), maxLogLines)
	assert.Assert(t, page.More)
}

func mustRequest(t *testing.T, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequest("GET", path, nil)
	assert.NilError(t, err)
	return r
}
