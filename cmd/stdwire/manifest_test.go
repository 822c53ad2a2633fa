package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// A difference here is a change of what agents, scripts and other programs see of the built-in
// server. Accept one with: go test ./cmd/stdwire -run Manifest -update
func TestBuiltinManifestIsStable(t *testing.T) {
	file := "manifest.json"
	if runtime.GOOS == "windows" { // there is no sh, so no proc.eval, and there are other signals
		file = "manifest-windows.json"
	}
	var indented bytes.Buffer
	assert.NilError(t, json.Indent(&indented, everything(t).Catalog.Manifest(), "", "  "))
	golden.Assert(t, indented.String(), file)
}
