package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// A difference is a change that agents, scripts and other programs see. Accept it with: go test
// ./cmd/stdwire -run Manifest -update
func TestBuiltinManifestIsStable(t *testing.T) {
	file := "manifest.json"
	if runtime.GOOS == "windows" { // no sh, so no proc.eval, and other signals
		file = "manifest-windows.json"
	}
	var indented bytes.Buffer
	assert.NilError(t, json.Indent(&indented, everything(t).Catalog.Manifest(), "", "  "))
	golden.Assert(t, indented.String(), file)
}
