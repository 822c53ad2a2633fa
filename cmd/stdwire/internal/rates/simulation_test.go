package rates

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/store/storetest"
)

const (
	simulatedRate  = 10 // per second, for each principal
	simulatedBurst = 20
	gateways       = 10
)

// Many gateways with a store that fails in every way. In all histories a rate that is not divided
// admits at most burst + rate × time in each life of the store, and nothing while that is gone; one
// that is divided admits at most twice as much, and what rounding adds. What is within a rate is
// admitted while the store is there.
func TestSimulatedGateways(t *testing.T) {
	storetest.Seeds(t, 3, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { simulateGateways(t, seed) })
	})
}

// An admission is a call that was admitted, from when it was made to when it reached its server.
type admission struct{ from, to time.Time }

// A lifetime is the time in which a store has kept what it had, or was gone.
type lifetime struct{ from, to time.Time }

func (l lifetime) has(a admission) bool { return !a.from.Before(l.from) && !a.to.After(l.to) }

func simulateGateways(t *testing.T, seed uint64) {
	normal := storetest.Faults{Latency: time.Millisecond, Reconnect: 300 * time.Millisecond}
	server := storetest.New(seed, normal)
	random := rand.New(rand.NewPCG(seed, 3))
	var (
		mu       sync.Mutex
		admitted = map[string][]admission{} // by tool and principal
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type made struct{}
	var callers sync.WaitGroup
	var links []*storetest.Link
	for g := range gateways {
		link := server.Link()
		links = append(links, link)
		r := replicaOf(t, link, fmt.Sprintf(
			`{"name": "whole", "rate": "%[1]d/s", "burst": %[2]d, "per": ["principal"], "tools": ["x"]},
			 {"name": "parts", "rate": "%[1]d/s", "burst": %[2]d, "per": ["principal"], "tools": ["y"], "replicas": %[3]d}`,
			simulatedRate, simulatedBurst, gateways))
		call := r.Servers(func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result,
			error) {
			if string(i.Arguments) == "down" {
				return nil, nil
			}
			markSent(ctx)
			mu.Lock()
			defer mu.Unlock()
			who := i.Name + " " + i.Principal
			from := ctx.Value(made{}).(time.Time)
			admitted[who] = append(admitted[who], admission{from, time.Now()})
			return nil, nil
		})
		for c := range 4 {
			own := rand.New(rand.NewPCG(seed, uint64(100+10*g+c)))
			callers.Go(func() {
				for {
					select {
					case <-time.After(time.Duration(own.Int64N(int64(500 * time.Millisecond)))):
					case <-ctx.Done():
						return
					}
					in := tool("s", []string{"x", "y"}[own.IntN(2)],
						[]string{"ann", "bob"}[own.IntN(2)])
					if own.IntN(5) == 0 {
						in.Arguments = []byte("down")
					}
					_, _ = call(context.WithValue(ctx, made{}, time.Now()), &in)
				}
			})
		}
	}
	begun := time.Now()
	lives, gone := []lifetime{{from: begun}}, []lifetime(nil)
	rest := func(most time.Duration) { time.Sleep(time.Duration(random.Int64N(int64(most)))) }
	for time.Since(begun) < time.Minute {
		switch random.IntN(6) {
		case 0, 1:
			server.Kill()
			down := lifetime{from: time.Now()}
			rest(5 * time.Second)
			down.to = time.Now()
			gone = append(gone, down)
			if random.IntN(2) == 0 {
				server.Start()
				break
			}
			lives[len(lives)-1].to = down.from
			lives = append(lives, lifetime{from: down.to})
			server.StartEmpty(0)
		case 2:
			server.Hang()
			rest(5 * time.Second)
			server.Go()
		case 3:
			server.Suffer(storetest.Faults{Latency: 300 * time.Millisecond, Lost: 0.1,
				Reconnect: normal.Reconnect})
			rest(5 * time.Second)
			server.Suffer(normal)
		case 4:
			for _, l := range links[:1+random.IntN(gateways-1)] {
				l.Cut()
				defer l.Heal()
			}
			rest(5 * time.Second)
			for _, l := range links {
				l.Heal()
			}
		}
		rest(2 * time.Second)
	}
	// When the store is there, what is within the rates is admitted.
	time.Sleep(5 * time.Second)
	calm := lifetime{from: time.Now()}
	time.Sleep(10 * time.Second)
	calm.to = time.Now()
	lives[len(lives)-1].to = calm.to
	cancel()
	callers.Wait()
	server.Close()

	whole := func(d time.Duration) float64 { return simulatedBurst + simulatedRate*d.Seconds() }
	for _, who := range []string{"ann", "bob"} {
		all := admitted["x "+who]
		total := 0.0
		for _, life := range lives {
			total += whole(life.to.Sub(life.from))
			in := slices.DeleteFunc(slices.Clone(all),
				func(a admission) bool { return !life.has(a) })
			for _, first := range in { // every window
				n := 0
				for _, a := range in {
					if a.from.Before(first.from) {
						continue
					}
					n++
					if most := whole(a.to.Sub(first.from)); float64(n) > most {
						t.Fatalf("%s: %d calls in %v, want at most %.1f", who, n,
							a.to.Sub(first.from), most)
					}
				}
			}
		}
		assert.Check(t, float64(len(all)) <= total, "%s: %d calls, want at most %.1f", who, len(all),
			total)
		for _, down := range gone {
			for _, a := range all {
				assert.Check(t, !down.has(a), "%s: a call is admitted while the store is gone", who)
			}
		}
		rounded := 2*total + gateways*float64(len(lives)+len(gone))
		assert.Check(t, float64(len(admitted["y "+who])) <= rounded)
		for _, tool := range []string{"x ", "y "} {
			n := 0
			for _, a := range admitted[tool+who] {
				if calm.has(a) {
					n++
				}
			}
			assert.Check(t, n >= simulatedRate*8, "%s%s: %d calls in 10 s", tool, who, n)
		}
	}
}
