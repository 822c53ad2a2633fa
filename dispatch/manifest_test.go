package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/dispatch"
)

// The codes of the golden file are those of earlier versions: callers branch on them. None is
// removed, and none gets another meaning.
func TestCodesRemain(t *testing.T) {
	var m struct{ Codes []dispatch.CodeInfo }
	assert.NilError(t, json.Unmarshal(golden.Get(t, "manifest.json"), &m))
	catalog := dispatch.NewCatalog()
	assert.Assert(t, len(m.Codes) > 0)
	for _, was := range m.Codes {
		if was.Code == "quota_exceeded" { // declared by TestManifestIsStable
			continue
		}
		info, ok := catalog.CodeInfo(was.Code)
		assert.Assert(t, ok, "%s is removed", was.Code)
		was.Summary = info.Summary
		assert.Equal(t, info, was)
	}
}

// Users of the manifest see each difference. Accept one with: go test ./dispatch -run Manifest
// -update
func TestManifestIsStable(t *testing.T) {
	build := func(backwards bool) json.RawMessage {
		c := dispatch.NewCatalog(dispatch.GateWrite)
		assert.NilError(t,
			c.Declare(dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429,
				ExitCode: 5, Summary: "Too much."}))
		full, err := dispatch.NewOperation(dispatch.Spec{
			Name: "weather.report", Title: "Weather", Summary: "Report the weather.",
			Description: "Report the weather of a city, <now> & later.",
			Type:        dispatch.Write, Idempotent: true, OpenWorld: true,
			Gate: dispatch.GateWrite, Timeout: 1500 * time.Millisecond,
			Errors: []dispatch.Code{dispatch.UpstreamError, "quota_exceeded", dispatch.NotFound},
			Examples: []dispatch.Example{
				{Summary: "Oslo", Input: json.RawMessage(`{ "city": "Oslo" }`)}},
		}, echo)
		assert.NilError(t, err)
		raw, err := dispatch.NewOperation(
			dispatch.Spec{Name: "a.raw", Summary: "Takes and returns anything.",
				Type: dispatch.Eval},
			func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
		assert.NilError(t, err)
		hidden := newOperation(t, "a.hidden", func(s *dispatch.Spec) { s.Gate = dispatch.GateEval })
		ops := []*dispatch.Operation{full, raw, hidden, newOperation(t, "a.idle")}
		if backwards {
			for i := range ops {
				assert.NilError(t, c.Register(ops[len(ops)-1-i]))
			}
		} else {
			assert.NilError(t, c.Register(ops...))
		}
		return c.Manifest()
	}
	manifest := build(false)
	assert.Assert(t, bytes.Equal(manifest, build(true)))
	var indented bytes.Buffer
	assert.NilError(t, json.Indent(&indented, manifest, "", "  "))
	golden.Assert(t, indented.String(), "manifest.json")
}

func TestManifestOfNothing(t *testing.T) {
	var m struct{ Operations, Codes []json.RawMessage }
	assert.NilError(t, json.Unmarshal(dispatch.NewCatalog().Manifest(), &m))
	assert.Assert(t, m.Operations != nil && len(m.Operations) == 0)
	assert.Equal(t, len(m.Codes), len(dispatch.NewCatalog().Codes()))
}
