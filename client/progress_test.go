package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// progress sends n notifications for a token.
func (s *scripted) progress(token string, n int) {
	for i := range n {
		s.notify("notifications/progress",
			fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}`, token,
				i+1, n, i+1))
	}
}

func TestProgress(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		m := s.read()
		s.progress("1", 3)
		s.reply(m, `{"content":[]}`)
		m = s.read()
		s.progress(`"2"`, 1) // the server returns the number as a string
		s.reply(m, `{"content":[]}`)
	})
	var got []mcp.ProgressParams
	_, err := c.CallTool(t.Context(), "t", nil,
		OnProgress(func(p mcp.ProgressParams) { got = append(got, p) }))
	assert.NilError(t, err)
	// Some may have been replaced by newer ones, but the last has arrived before the call returned.
	last := got[len(got)-1]
	assert.Equal(t, last.Progress, 3.0)
	assert.Equal(t, *last.Total, 3.0)
	assert.Equal(t, last.Message, "step 3")

	got = nil
	_, err = c.CallTool(t.Context(), "t", nil,
		OnProgress(func(p mcp.ProgressParams) { got = append(got, p) }))
	assert.NilError(t, err)
	assert.Equal(t, len(got), 1)
	assert.Equal(t, c.calls.Len(), 0)
}

// A slow callback delays only its own call, and gets the newest progress when it returns.
func TestSlowProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Connect(t.Context(), stream(func(s *scripted) {
			s.modern()
			slow := s.read()
			s.progress("1", 1)
			time.Sleep(time.Second)
			s.progress("1", 10_000)
			quick := s.read()
			s.reply(quick, `{"content":[]}`)
			s.reply(slow, `{"content":[]}`)
		}))
		assert.NilError(t, err)
		began := time.Now()
		got := make(chan []float64)
		go func() {
			var all []float64
			_, err := c.CallTool(t.Context(), "slow", nil, OnProgress(func(p mcp.ProgressParams) {
				all = append(all, p.Progress)
				time.Sleep(time.Minute)
			}))
			assert.Check(t, err)
			got <- all
		}()
		time.Sleep(2 * time.Second)
		_, err = c.CallTool(t.Context(), "quick", nil)
		assert.NilError(t, err)
		assert.Equal(t, time.Since(began), 2*time.Second)
		assert.DeepEqual(t, <-got, []float64{1, 10_000})
		assert.Equal(t, time.Since(began), 2*time.Minute)
		shut(t, c)
	})
}

// The time that a callback takes does not count for the timeout.
func TestTimeoutStopsDuringProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Connect(t.Context(), stream(func(s *scripted) {
			s.modern()
			m := s.read()
			s.progress("1", 1)
			time.Sleep(time.Minute + 5*time.Second)
			s.reply(m, `{"content":[]}`)
		}))
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "t", nil, Timeout(10*time.Second),
			OnProgress(func(mcp.ProgressParams) { time.Sleep(time.Minute) }))
		assert.NilError(t, err)
		shut(t, c)
	})
}

// A panic in a callback reaches the caller, and nothing is left running.
func TestPanickingProgress(t *testing.T) {
	cancelled := make(chan message, 1)
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		s.read()
		s.progress("1", 1)
		cancelled <- s.read()
	})
	func() {
		defer func() { assert.Equal(t, recover(), "boom") }()
		_, _ = c.CallTool(t.Context(), "t", nil,
			OnProgress(func(mcp.ProgressParams) { panic("boom") }))
	}()
	assert.Equal(t, (<-cancelled).Method, "notifications/cancelled")
	assert.Equal(t, c.calls.Len(), 0)
}

// A server that only reports progress cannot keep a call forever.
func TestEndlessProgress(t *testing.T) {
	for name, test := range map[string]struct{ every, callback time.Duration }{
		"slowly":                             {4 * time.Second, 0},
		"faster than anybody can look at it": {100 * time.Millisecond, time.Second},
		"just when the time is about to end": {5 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := Options{CallTimeout: 5 * time.Second,
					MaxCallTime: time.Minute}.Connect(t.Context(), stream(func(s *scripted) {
					s.modern()
					s.read()
					gone := make(chan struct{})
					go func() { s.hold(); close(gone) }()
					for {
						select {
						case <-gone:
							return
						case <-time.After(test.every):
							s.progress("1", 1)
						}
					}
				}))
				assert.NilError(t, err)
				began := time.Now()
				_, err = c.CallTool(t.Context(), "t", nil,
					OnProgress(func(mcp.ProgressParams) { time.Sleep(test.callback) }))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				took := time.Since(began)
				assert.Check(t, took == time.Minute || test.callback > 0 &&
					took <= time.Minute+test.callback || test.every == 5*time.Second &&
					took >= 5*time.Second && took <= time.Minute, "took %v", took)
				shut(t, c)
			})
		})
	}
}

// A question of a legacy server waits for the delivery of the progress before it, but not for a
// callback that does not return.
func TestProgressBeforeQuestion(t *testing.T) {
	for name, test := range map[string]struct {
		callback time.Duration
		want     []string
	}{
		"first":        {time.Second / 2, []string{"progress 1", "question", "progress 2"}},
		"not too long": {time.Hour, []string{"question", "progress 1", "progress 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var heard []string
				hear := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, what)
				}
				o := Options{CallTimeout: 2 * time.Hour,
					OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
						hear("question")
						return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
					}}
				c, err := o.Connect(t.Context(), stream(func(s *scripted) {
					s.legacy()
					call := s.read()
					s.progress("1", 1)
					s.ask(1, mcp.MethodElicit, formParams)
					s.read()
					s.notify("notifications/progress", `{"progressToken":1,"progress":2}`)
					s.reply(call, `{"content":[]}`)
				}))
				assert.NilError(t, err)
				_, err = c.CallTool(t.Context(), "t", nil, OnProgress(func(p mcp.ProgressParams) {
					time.Sleep(test.callback)
					hear(fmt.Sprint("progress ", p.Progress))
				}))
				assert.NilError(t, err)
				assert.DeepEqual(t, heard, test.want)
				assert.Equal(t, c.calls.Len(), 0)
				shut(t, c)
			})
		})
	}
}
