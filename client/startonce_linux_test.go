package client_test

import (
	"errors"
	"testing"

	"github.com/stdwire/stdwire/client"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A program that ends without having read the probe is started once, and the error quotes what it
// wrote to stdout.
func TestStartedOnce(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'Loading model'": `; it wrote a line to stdout that is not a message: "Loading model"`,
		"echo one; echo two":   `; it wrote 2 lines to stdout that are not messages, the first: "one"`,
		"exit 3":               "exited with status 3 before answering",
	} {
		starts := 0
		_, err := client.Options{}.Spawn(t.Context(), client.Command{Path: "sh",
			Args: []string{"-c", script}, Started: func(int) { starts++ }})
		failed, ok := errors.AsType[*client.StartError](err)
		assert.Assert(t, ok, err)
		assert.Assert(t, cmp.Contains(failed.Error(), want))
		assert.Equal(t, starts, 1, script)
	}
	// One that reads the probe first may have ended because of it.
	starts := 0
	_, err := client.Options{}.Spawn(t.Context(), client.Command{Path: "sh",
		Args: []string{"-c", "read line; exit 3"}, Started: func(int) { starts++ }})
	assert.ErrorContains(t, err, "exited with status 3")
	assert.Equal(t, starts, 2)
}
