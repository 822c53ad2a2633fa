package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	seedVar = "STDWIRE_SEED"
	soakVar = "STDWIRE_SOAK_TIME"
)

// Soaks reports whether simulations are to be long, because STDWIRE_SOAK_TIME is set.
func Soaks() bool { return soakTime() > 0 }

func soakTime() time.Duration {
	d, _ := time.ParseDuration(os.Getenv(soakVar))
	return d
}

// Seeds runs a simulation with the seeds from 1 to n, with STDWIRE_SEED alone if that is set, or
// with random ones for STDWIRE_SOAK_TIME, such as 10m. The name of a run has its seed.
func Seeds(t *testing.T, n int, f func(t *testing.T, seed uint64)) {
	run := func(seed uint64) bool {
		return t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f(t, seed)
			if t.Failed() {
				t.Logf("to replay it: %s=%d", seedVar, seed)
			}
		})
	}
	if text := os.Getenv(seedVar); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVar, err)
		}
		run(seed)
		return
	}
	if Soaks() {
		for end := time.Now().Add(soakTime()); time.Now().Before(end) && run(rand.Uint64()); {
		}
		return
	}
	for seed := range uint64(n) {
		run(seed + 1)
	}
}
