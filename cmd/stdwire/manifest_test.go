package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// A difference here is a change of what agents, scripts and other programs see of the built-in server. Accept one with: go test ./cmd/stdwire -run Manifest -update
func TestBuiltinManifestIsStable(t *testing.T) {
	var indented bytes.Buffer
	assert.NilError(t, json.Indent(&indented, everything(t).catalog.Manifest(), "", "  "))
	golden.Assert(t, indented.String(), "manifest.json")
}
