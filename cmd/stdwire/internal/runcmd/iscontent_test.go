package runcmd

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestIsContent(t *testing.T) {
	for text, want := range map[string]bool{`[{"type":"x"},{"type":"y"}]`: true,
		`[{"type":"x"},{"a":1}]`: false, `[1]`: false, `[]`: false, `{"type":"x"}`: false,
		`[{"type":1}]`: false} {
		assert.Equal(t, isContent([]byte(text)), want, text)
	}
}
