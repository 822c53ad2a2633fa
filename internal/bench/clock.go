package main

import (
	"flag"
	"testing"
	"time"
)

// benchmarkFor is testing.Benchmark with a duration.
func benchmarkFor(d time.Duration, f func(b *testing.B)) testing.BenchmarkResult {
	if err := flag.Set("test.benchtime", d.String()); err != nil {
		panic(err) // testing.Init has defined the flag
	}
	return testing.Benchmark(f)
}
