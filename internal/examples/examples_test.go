package examples

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
)

// TestPrograms builds the client, the gateway and the server, and connects them with each other.
func TestPrograms(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil && runtime.GOOS == "windows" {
		t.Skip("no go command; only Windows skips this test")
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "./server", "./client",
		"./gateway").CombinedOutput()
	assert.NilError(t, err, "%s", out)
	server := filepath.Join(dir, "server")
	for _, tt := range []struct {
		tool    string
		command []string
		want    string
	}{
		{"weather_get", []string{server},
			"weather_get - The weather in a city.\nlight rain in Oslo\n"},
		{"b__weather_get", []string{filepath.Join(dir, "gateway"), "a=" + server, "b=" + server},
			"a__weather_get - [a] The weather in a city.\n" +
				"b__weather_get - [b] The weather in a city.\nlight rain in Oslo\n"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "client"),
			append([]string{tt.tool, `{"city":"Oslo"}`}, tt.command...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		assert.NilError(t, err, "%s", &stderr)
		assert.Equal(t, string(out), tt.want)
		assert.Equal(t, stderr.String(), "")
	}
}
