package main

import (
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// Concurrent runs that find the token expired renew it one after another: the authorization server
// treats a second use of a refresh token as theft.
func TestRunsRenewOneAfterTheOther(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	g := newGuarded(t)
	g.expires = 5 // which is as good as now
	assert.Equal(t, loggedIn(t, g.url).code, 0)
	var all sync.WaitGroup
	results := make(chan ran, 8)
	for range cap(results) {
		all.Go(func() {
			cmd, stdout, stderr := stdwire(t, "call", "echo", "text=x", "--url", g.url)
			results <- ran{exitCode(cmd.Run()), stdout.String(), stderr.String()}
		})
	}
	all.Wait()
	close(results)
	for got := range results {
		assert.Equal(t, got, ran{0, "x\n", ""})
	}
	assert.Assert(t, len(g.grants) > cap(results))
}
