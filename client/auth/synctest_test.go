package auth_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// runSynctest runs a test in a synctest bubble.
func runSynctest(t *testing.T, f func(t *testing.T, w *testServers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

func sleep(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }
