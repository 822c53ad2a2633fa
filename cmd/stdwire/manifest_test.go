package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// A difference is a change that agents, scripts and other programs see. Accept it with: go test
// ./cmd/stdwire -run Manifest -update. manifest-windows.json has what is different on Windows,
// where there is no sh and there are other signals.
func TestBuiltinManifestIsStable(t *testing.T) {
	const file, windowsFile = "manifest.json", "manifest-windows.json"
	manifest := everything(t).Catalog.Manifest()
	if runtime.GOOS == "windows" {
		difference := differenceOf(t, golden.Get(t, file), manifest)
		golden.Assert(t, indentedJSON(t, difference), windowsFile)
		return
	}
	golden.Assert(t, indentedJSON(t, manifest), file)

	var windows manifestDifference
	assert.NilError(t, json.Unmarshal(golden.Get(t, windowsFile), &windows))
	known := operationsOf(t, manifest)
	for _, name := range windows.Missing {
		assert.Assert(t, known[name] != nil, "%s has %s, which no system has", windowsFile, name)
	}
}

// A manifestDifference is what another manifest has in place of operations, and lacks.
type manifestDifference struct {
	Operations []json.RawMessage `json:"operations"`
	Missing    []string          `json:"missing"`
}

// differenceOf returns the manifestDifference of a manifest. All but its operations must be equal.
func differenceOf(t *testing.T, from, to []byte) []byte {
	t.Helper()
	before, after := operationsOf(t, from), operationsOf(t, to)
	var d manifestDifference
	for name, operation := range after {
		if !bytes.Equal(before[name], operation) {
			d.Operations = append(d.Operations, operation)
		}
	}
	slices.SortFunc(d.Operations, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	for name := range before {
		if after[name] == nil {
			d.Missing = append(d.Missing, name)
		}
	}
	slices.Sort(d.Missing)
	assert.Equal(t, withoutOperations(t, from), withoutOperations(t, to))
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	assert.NilError(t, e.Encode(d))
	return text.Bytes()
}

// operationsOf returns the operations of a manifest by their names, without white space.
func operationsOf(t *testing.T, manifest []byte) map[string]json.RawMessage {
	t.Helper()
	var m struct{ Operations []json.RawMessage }
	assert.NilError(t, json.Unmarshal(manifest, &m))
	all := map[string]json.RawMessage{}
	for _, operation := range m.Operations {
		var named struct{ Name string }
		assert.NilError(t, json.Unmarshal(operation, &named))
		var compact bytes.Buffer
		assert.NilError(t, json.Compact(&compact, operation))
		all[named.Name] = compact.Bytes()
	}
	return all
}

func withoutOperations(t *testing.T, manifest []byte) string {
	t.Helper()
	var m map[string]any
	assert.NilError(t, json.Unmarshal(manifest, &m))
	delete(m, "operations")
	text, err := json.Marshal(m)
	assert.NilError(t, err)
	return string(text)
}

func indentedJSON(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, json.Indent(&b, bytes.TrimSpace(text), "", "  "))
	return b.String()
}

func TestDifferenceOfManifests(t *testing.T) {
	from := `{"codes":[1],"operations":[{"name":"a"},{"name":"b","x":"<"},{"name":"c"}]}`
	to := `{"operations": [{"name": "b", "x": "<>"}, {"name": "c"}, {"name": "d"}], "codes": [1]}`
	assert.Equal(t, string(differenceOf(t, []byte(from), []byte(to))),
		`{"operations":[{"name":"b","x":"<>"},{"name":"d"}],"missing":["a"]}`+"\n")
}
