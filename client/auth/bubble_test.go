package auth_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs a test where time passes only while everybody waits.
func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

func sleep(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }
