package web

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
)

// Each member of the form is one of the configuration file, and has its help.
func TestFormFieldsHaveHelp(t *testing.T) {
	type schema struct {
		Description string
		Properties  map[string]json.RawMessage
	}
	var look func(path string, properties map[string]json.RawMessage)
	seen := 0
	look = func(path string, properties map[string]json.RawMessage) {
		for name, text := range properties {
			var s schema
			assert.NilError(t, json.Unmarshal(text, &s))
			assert.Assert(t, s.Description != "", "%s/%s", path, name)
			seen++
			look(path+"/"+name, s.Properties)
		}
	}
	var properties map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal(formProperties("server"), &properties))
	look("", properties)
	assert.Equal(t, seen, 21)
}
