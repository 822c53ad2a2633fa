package command

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"call x -o json": true, "call x -o=json --bad": true, "call x -o text": false,
		"call x -- y -o json": false, "call -o": false, "": false,
	} {
		assert.Equal(t, wantsJSON(strings.Fields(args)), want, args)
	}
}
