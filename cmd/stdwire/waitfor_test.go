package main

import (
	"testing"
	"time"
)

// waitFor waits until problem returns "". It is for effects of other processes.
func waitFor(t *testing.T, problem func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		switch p := problem(); {
		case p == "":
			return
		case time.Now().After(deadline):
			t.Fatal(p)
		}
	}
}
