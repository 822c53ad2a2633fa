//go:build linux

package conformance_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/yaml"
)

// yamlPieces are what documents are made of: each is a line without its indentation.
var yamlPieces = strings.Split(`a: b
b: c # d
c: x: y
d:
e: |
f: >-
g: >
h: |+
- i
- j: k
- - l
-
- |
m: 'it''s'
n: "o\tp\u00e9"
q: "r
  s"
t: 'u
v
  w: x
"y": z
a1: [b, {c: d}, "e"]
a2: {}
a3: 0x1F
a4: -1.50
a5: 007
a6: 1e3
a7: .5
a8: True
a9: ~
b1: 2026-07-28
b2: - c
b3: "d" e
b4: f#g
b5: #h
b6: -i
b7: [j, k
b8: &l m
b9: http://n:80/#o
c1: "p\
# q
  # r

    
s:t
c2 : u
c3: v'w"x
c4: [a, b,]
c5: {d: 1, "e": 2}
c6: ? f
c7: ::g
c8: 1_000
c9: +12
d1: 0o17
d2: ''
d3: a  b
d4: :
- ? x
---
`, "\n")

// Documents that package yaml accepts have the same value in npm's yaml. The package may refuse
// documents that npm's yaml accepts.
func TestYAMLAgainstNPM(t *testing.T) {
	b := newNodeBench(t)
	random := rand.New(rand.NewPCG(1, 2))
	var documents []string
	var own []json.RawMessage
	for len(documents) < 20_000 {
		var text strings.Builder
		text.WriteString("name: x\n")
		indent := 0
		for range 1 + random.IntN(7) {
			indent = max(0, indent+2*(random.IntN(3)-1))
			text.WriteString(strings.Repeat(" ", indent+random.IntN(8)/7))
			text.WriteString(yamlPieces[random.IntN(len(yamlPieces))] + "\n")
		}
		read, err := yaml.ToJSON([]byte(text.String()))
		if err != nil {
			continue // most documents are invalid
		}
		documents = append(documents, text.String())
		own = append(own, read)
	}
	stdin, err := json.Marshal(documents)
	assert.NilError(t, err)
	script, err := os.ReadFile("node/yaml.mjs")
	assert.NilError(t, err)
	b.write("yaml.mjs", string(script))
	cmd := exec.CommandContext(t.Context(), b.path("node_modules/.bin/node"), "yaml.mjs")
	cmd.Dir, cmd.Env, cmd.Stdin = b.dir, b.env, bytes.NewReader(stdin)
	out, err := cmd.Output()
	assert.NilError(t, err)
	var others []struct {
		Value any
		Error string
	}
	assert.NilError(t, json.Unmarshal(out, &others))
	assert.Equal(t, len(others), len(documents))
	for i, other := range others {
		assert.Equal(t, other.Error, "", "%q", documents[i])
		var value any
		assert.NilError(t, json.Unmarshal(own[i], &value))
		assert.DeepEqual(t, value, other.Value)
	}
}
