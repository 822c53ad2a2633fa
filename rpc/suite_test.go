package rpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// JSONTestSuite through the envelope scanner: each file as a whole message, as params, and as an
// unknown member. Valid JSON must be accepted, invalid JSON refused, and files that the standard
// leaves open must do no harm.
func TestJSONTestSuite(t *testing.T) {
	root := os.Getenv("STDWIRE_SUITES")
	if root == "" {
		t.Skip("STDWIRE_SUITES is not set: it names the folder that holds JSONTestSuite")
	}
	files, err := filepath.Glob(filepath.Join(root, "JSONTestSuite", "test_parsing", "*.json"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 300, "the suite is not there")
	for _, file := range files {
		data, err := os.ReadFile(file)
		assert.NilError(t, err)
		name := filepath.Base(file)
		for where, message := range map[string][]byte{
			"alone":   data,
			"params":  wrap(`{"jsonrpc":"2.0","id":1,"method":"m","params":[`, data, `]}`),
			"unknown": wrap(`{"x":`, data, `,"jsonrpc":"2.0","id":1,"method":"m"}`),
			"result":  wrap(`{"jsonrpc":"2.0","id":1,"result":`, data, `}`),
		} {
			e, f := scanEnvelope(message)
			parsed := f == nil || f.code != CodeParseError
			switch name[0] {
			case 'y':
				assert.Assert(t, parsed, "%s, %s: %v", name, where, f)
				if where != "alone" {
					assert.Assert(t, f == nil && e.id == IntID(1), "%s, %s: %v", name, where, f)
				}
			case 'n':
				// A single space, or nothing, is not JSON alone but is between brackets.
				assert.Assert(t, !parsed || where != "alone" &&
					json.Valid(message), "%s, %s", name, where)
			}
		}
	}
}

func wrap(before string, data []byte, behind string) []byte {
	return append(append([]byte(before), data...), behind...)
}
