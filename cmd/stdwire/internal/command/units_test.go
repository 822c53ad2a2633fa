package command

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestSize(t *testing.T) {
	for n, want := range map[int]string{0: "0 B", 999: "999 B", 12345: "12.3 kB",
		5_200_000: "5.2 MB"} {
		assert.Equal(t, Size(n), want)
	}
}
