package streamable_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
)

// deadly runs a test with each era's server, all of whose connections are dead after three calls at
// once have left as many of them idle. Calls take the time that delay returns.
func deadly(t *testing.T, delay func() time.Duration,
	test func(t *testing.T, s *testServer, c *client.Client)) {
	answer := func(w http.ResponseWriter, r *recordedRequest) {
		if !wait(r, delay()) {
			return
		}
		if r.message.Method == "tools/list" {
			answerJSON(w, r, `{"resultType":"complete","ttlMs":0,"cacheScope":"private",`+
				`"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}`)
			return
		}
		answerCall(w, r)
	}
	for name, server := range map[string]func(http.ResponseWriter, *recordedRequest){
		"modern": modern(answer), "legacy": legacy(answer, nil)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, server, func(t *testing.T, s *testServer) {
				s.http.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
				c := s.connect(t, client.Options{})
				var calls sync.WaitGroup
				for range 3 {
					calls.Go(func() { check(t, c) })
				}
				calls.Wait()
				s.pipes.die()
				test(t, s, c)
			})
		})
	}
}

func aSecond() time.Duration { return time.Second }

func connections(s *testServer) int {
	s.pipes.mu.Lock()
	defer s.pipes.mu.Unlock()
	return len(s.pipes.dialed)
}

// After a call on a dead connection, the next one uses a new connection, although others are idle.
// The call that failed is not repeated.
func TestDeadConnection(t *testing.T) {
	deadly(t, aSecond, func(t *testing.T, s *testServer, c *client.Client) {
		before := s.count("POST tools/call")
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		_, err := c.CallTool(ctx, "weather", nil)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		check(t, c)
		check(t, c)
		assert.Equal(t, time.Since(start), 2*time.Second)
		assert.Equal(t, s.count("POST tools/call"), before+2)
	})
}

// A call does not wait for another one that is on a dead connection and has no deadline.
func TestDeadConnectionWithoutDeadline(t *testing.T) {
	deadly(t, aSecond, func(t *testing.T, s *testServer, c *client.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, err := c.CallTool(ctx, "weather", nil)
			assert.Check(t, err != nil)
		})
		time.Sleep(time.Minute)
		start := time.Now()
		check(t, c)
		assert.Equal(t, time.Since(start), time.Second)
		cancel()
		waiting.Wait()
	})
}

// A request without side effects is repeated on a new connection.
func TestDeadConnectionOfAList(t *testing.T) {
	deadly(t, aSecond, func(t *testing.T, s *testServer, c *client.Client) {
		start := time.Now()
		for tool, err := range c.Tools(t.Context()) {
			assert.NilError(t, err)
			assert.Equal(t, tool.Name, "weather")
		}
		assert.Equal(t, time.Since(start), 21*time.Second)
		assert.Equal(t, s.count("POST tools/list"), 1)
		check(t, c)
	})
}

// The connection of a slow server is not dead: its calls are performed once, and even a slow list
// succeeds.
func TestSlowServerIsNotDead(t *testing.T) {
	var delay atomic.Int64
	delay.Store(int64(time.Second))
	deadly(t, func() time.Duration { return time.Duration(delay.Load()) },
		func(t *testing.T, s *testServer, c *client.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			_, err := c.CallTool(ctx, "weather", nil)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			check(t, c) // on a new connection, which closing the idle ones may close, too
			check(t, c)
			used, before := connections(s), s.count("POST tools/call")
			synctest.Wait()
			delay.Store(int64(time.Minute - time.Second))
			check(t, c)
			assert.Equal(t, connections(s), used, "the same connection")
			assert.Equal(t, s.count("POST tools/call"), before+1)
			for _, err := range c.Tools(t.Context()) {
				assert.NilError(t, err)
			}
			delay.Store(int64(time.Second))
		})
}
