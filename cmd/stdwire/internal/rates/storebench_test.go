package rates

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

// counters returns the commands of clients that a server has run, and the bytes that it has
// received and sent.
func counters(b *testing.B, c *redis.Client) (all [3]float64) {
	reply, err := c.Do(context.Background(), "INFO", "everything")
	assert.NilError(b, err)
	text, err := reply.Bytes()
	assert.NilError(b, err)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "cmdstat_evalsha":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			all[0], err = strconv.ParseFloat(calls, 64)
		case "total_net_input_bytes":
			all[1], err = strconv.ParseFloat(value, 64)
		case "total_net_output_bytes":
			all[2], err = strconv.ParseFloat(value, 64)
		}
		assert.NilError(b, err)
	}
	return all
}

// BenchmarkStore is BenchmarkInterceptor with the buckets on a server, for one caller and for many,
// with the round trips and bytes of a call.
func BenchmarkStore(b *testing.B) {
	for name, rates := range map[string]string{
		"one": `{"name": "a", "rate": "1000000/s", "per": ["principal"]}`,
		"three": `{"name": "a", "rate": "1000000/s", "per": ["principal"]},
			{"name": "b", "day": 1000000, "per": ["server"], "costs": {"x": 0}},
			{"name": "d", "rate": "1000000/s", "per": ["tool"]}`,
		"none": `{"name": "a", "day": 1, "tools": ["other"]}`} {
		b.Run(name, func(b *testing.B) {
			server := redistest.Start(b)
			client := server.Client()
			redistest.Available(b, client)
			r := newReplica(b, server, rates)
			call := func(b *testing.B) {
				in := tool("files", "read", "https://login.example.com#ann")
				if _, err := r.call(context.Background(), &in); err != nil || r.fails() {
					b.Error(err)
				}
			}
			b.Run("alone", func(b *testing.B) {
				b.ReportAllocs()
				n, before := 0.0, counters(b, client)
				for b.Loop() {
					call(b)
					n++
				}
				after := counters(b, client)
				b.ReportMetric((after[0]-before[0])/n, "trips/op")
				b.ReportMetric((after[1]-before[1])/n, "bytes-sent/op")
				b.ReportMetric((after[2]-before[2])/n, "bytes-received/op")
			})
			b.Run("64", func(b *testing.B) {
				b.SetParallelism(32)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						call(b)
					}
				})
			})
		})
	}
}
