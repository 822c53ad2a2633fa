package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The text of a file is what encoding/json indents.
func TestWriteTo(t *testing.T) {
	definition := json.RawMessage(`{"inputSchema":{"enum":[],"type":"object"},"name":"<a>"}`)
	for _, servers := range []map[string]*serverPins{
		{},
		{"a": {Forgotten: true}},
		{"b\u2028<\"": {Name: "B & C", Capabilities: json.RawMessage(`["tools",{}]`),
			Tools:  map[string]entry{"z": {"00", definition}, "a\n": {"01", definition}},
			Skills: map[string]entry{}}, "a": {}, "invalid \xff": {}},
	} {
		c := &contents{Version: version, Servers: servers}
		want, err := json.MarshalIndent(c, "", "  ")
		assert.NilError(t, err)
		var text bytes.Buffer
		assert.NilError(t, c.writeTo(&text))
		assert.Equal(t, text.String(), string(want)+"\n")
	}
	err := (&contents{Servers: map[string]*serverPins{"a": {
		Capabilities: json.RawMessage(`{`)}}}).writeTo(io.Discard)
	assert.ErrorContains(t, err, "unexpected end of JSON input")
}

// A write that fails says why, also when the disk is full in the middle of the file.
func TestWriteToFails(t *testing.T) {
	full := errors.New("no space left")
	c := &contents{Version: version, Servers: map[string]*serverPins{}}
	for i := range 50 {
		c.Servers[fmt.Sprint("s", i)] = &serverPins{Name: strings.Repeat("x", 10_000)}
	}
	for left := range 3 {
		writes := 0
		err := c.writeTo(writeFunc(func(p []byte) (int, error) {
			if writes++; writes > left {
				return 0, full
			}
			return len(p), nil
		}))
		assert.ErrorIs(t, err, full)
		assert.Equal(t, writes, left+1)
	}
	c.Servers["s0"].Name = strings.Repeat("x", MaxFile)
	assert.ErrorIs(t, c.writeTo(io.Discard), errFull)
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }
