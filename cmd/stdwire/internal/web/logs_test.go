package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestLogs(t *testing.T) {
	v := visit(t)
	log := func(params string) string {
		return `←{"jsonrpc":"2.0","method":"notifications/message","params":` + params + `}`
	}
	recordFrames(v.site.traffic, "a", log(`{"level":"debug","logger":"db.Pool","data":"Opened"}`),
		log(`{"level":"error","logger":"http","data":{"path":"/x","why":"REFUSED"}}`),
		log(`{"level":"loud","data":1}`), log(`7`),
		`←{"jsonrpc":"2.0","method":"notifications/other","params":{"level":"error"}}`)
	recordFrames(v.site.traffic, "b", log(`{"level":"warning","data":null}`))
	for query, want := range map[string]string{
		"":                      "6 4 3 2 1",
		"level=info":            "6 2",
		"level=error":           "2",
		"server=a&level=debug":  "2 1",
		"logger=pool":           "1",
		"text=refused":          "2",
		"text=refused&logger=d": "",
	} {
		f, err := newLogFilter(mustRequest(t, "/api/logs?"+query))
		assert.NilError(t, err)
		var numbers []string
		for _, line := range v.site.traffic.logs(f).Lines {
			numbers = append(numbers, fmt.Sprint(line.N))
		}
		assert.Equal(t, strings.Join(numbers, " "), want, query)
	}
	status, text := v.send("GET", "/api/logs?text=refused", "", v.key())
	assert.Equal(t, status, 200)
	assert.Assert(t, strings.Contains(text, `"data":{"path":"/x","why":"REFUSED"}`), text)
	status, _ = v.send("GET", "/api/logs?level=loud", "", v.key())
	assert.Equal(t, status, 400)

	for range maxLogLines + 1 {
		recordFrames(v.site.traffic, "c", log(`{"level":"info","data":"x"}`))
	}
	page := v.site.traffic.logs(logFilter{server: "c"})
	assert.Equal(t, len(page.Lines), maxLogLines)
	assert.Assert(t, page.More)
}

func mustRequest(t *testing.T, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequest("GET", path, nil)
	assert.NilError(t, err)
	return r
}
