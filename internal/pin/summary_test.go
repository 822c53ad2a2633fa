package pin_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestSummaries(t *testing.T) {
	pins, err := pin.Open(filepath.Join(t.TempDir(), "pins.json"))
	assert.NilError(t, err)
	all, err := pins.Summaries()
	assert.NilError(t, err)
	assert.Equal(t, len(all), 0)
	tools := []json.RawMessage{[]byte(`{"name":"a"}`), []byte(`{"name":"b"}`)}
	for _, id := range []string{"z", "a"} {
		_, err = pins.Check(pin.Server{ID: id, Name: "named " + id}, mcp.KindTool, tools)
		assert.NilError(t, err)
	}
	_, err = pins.Check(pin.Server{ID: "z", Name: "named z"}, mcp.KindPrompt, nil)
	assert.NilError(t, err)
	all, err = pins.Summaries()
	assert.NilError(t, err)
	assert.DeepEqual(t, all, []pin.Summary{
		{ID: "a", Name: "named a", Pins: map[mcp.Kind]int{mcp.KindTool: 2}},
		{ID: "z", Name: "named z", Pins: map[mcp.Kind]int{mcp.KindTool: 2, mcp.KindPrompt: 0}},
	})
}
