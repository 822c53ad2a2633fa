package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// A difference here is a change of what agents, scripts and other programs see of the built-in server. Accept one with: go test ./cmd/stdwire -run Manifest -update
func TestBuiltinManifestIsStable(t *testing.T) {
	var indented bytes.Buffer
	catalog := everything(t).catalog
	assert.NilError(t, json.Indent(&indented, catalog.Manifest(), "", "  "))
	if _, ok := catalog.Lookup("proc.eval"); ok {
		golden.Assert(t, indented.String(), "manifest.json")
		return
	}
	assert.Equal(t, runtime.GOOS, "windows", "only there is no sh to rely on")
	all := strings.ReplaceAll(string(golden.Get(t, "manifest.json")), "\r\n", "\n")
	before, rest, _ := strings.Cut(all, ",\n    {\n      \"name\": \"proc.eval\"")
	_, behind, _ := strings.Cut(rest, "\n    }")
	assert.Equal(t, indented.String(), before+behind)
}
