package schema

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWithProperties(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                               `{"properties":{}}`,
		`{"type":"object"}`:                `{"type":"object","properties":{}}`,
		`{"type":"object","required":[]}`:  `{"type":"object","required":[],"properties":{}}`,
		`{"properties":{"a":true}}`:        `{"properties":{"a":true}}`,
		`{"properties":5,"type":"object"}`: `{"properties":5,"type":"object"}`,
		`true`:                             `true`,
		``:                                 ``,
	} {
		assert.Equal(t, string(WithProperties(json.RawMessage(text))), want)
	}
}
