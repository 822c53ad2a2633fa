//go:build unix

package main

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A gateway serves at once while a server hangs at its start: only lists wait for it, for a while.
func TestServeWhileServerHangs(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	hangs := good("args", []string{"fixture:mute", "initialize"})
	// longer than the other server takes to start on a busy machine
	s := serving(t, obj{"hangs": hangs, "good": good()}, "--no-auth", "--wait-lists", "20s")
	address := strings.TrimSuffix(s.endpoint(), "/mcp")
	listed := make(chan ran)
	go func() { listed <- run(t, "tools", "--url", s.endpoint()) }()
	documented := make(chan int)
	go func() {
		response, err := http.Get(address + "/v1/openapi.json")
		if err != nil {
			documented <- 0
			return
		}
		_ = response.Body.Close()
		documented <- response.StatusCode
	}()
	response, err := http.Get(address + "/healthz")
	assert.NilError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, response.StatusCode, http.StatusOK)
	status, answer := post(t.Context(), t, address, "good",
		`{"action":"echo","params":{"text":"hi"},"confirm":true}`)
	assert.Equal(t, status, http.StatusOK, answer)
	select {
	case <-listed:
		t.Fatal("a list did not wait for the servers")
	case status := <-documented:
		t.Fatalf("a document did not wait for the servers: %d", status)
	default:
	}
	got := <-listed
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.Contains(got.stdout, "good__echo"), got.stdout)
	assert.Equal(t, <-documented, http.StatusOK)
}
