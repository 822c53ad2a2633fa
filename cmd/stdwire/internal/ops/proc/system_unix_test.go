//go:build unix

package proc

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

func openFiles(t testing.TB) int {
	entries, err := os.ReadDir("/dev/fd")
	assert.NilError(t, err)
	return len(entries)
}

func onWine() bool { return false }

const executable = "" // extension of programs
