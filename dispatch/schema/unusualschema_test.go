package schema

import (
	"testing"

	"gotest.tools/v3/assert"
)

// Messages about unusual schemas are whole sentences, each once.
func TestErrorsOfUnusualSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"enum":[]}}}`:      "no value is allowed, because its enum is empty",
		`{"required":["b","b","c","b"]}`:        `missing required property "c"`,
		`{"dependentRequired":{"a":["b","b"]}}`: `missing property "b"`,
	} {
		s, err := Compile([]byte(schema))
		assert.NilError(t, err)
		err = s.Validate([]byte(`{"a":1}`))
		assert.ErrorContains(t, err, want)
		count := len(err.(*Error).Causes)
		assert.Equal(t, count, map[bool]int{true: 2, false: 1}[schema[2] == 'r'], err.Error())
	}
}
