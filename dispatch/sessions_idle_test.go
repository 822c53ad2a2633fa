package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// A session that no call has used for the idle time is closed, and not before.
func TestIdleSessionExpires(t *testing.T) {
	const idle = time.Minute
	for _, tc := range []struct {
		rule string
		use  func(t *testing.T, s *shells) // what happens after the session was opened
		want time.Duration                 // when it is closed, from then on
	}{
		{"idle since it was opened", func(*testing.T, *shells) {}, idle},
		{"use renews", func(t *testing.T, s *shells) {
			time.Sleep(idle - 1)
			assert.Assert(t, s.do(t, "use", `{}`).Success())
		}, 2*idle - 1},
		{"not while a call uses it", func(t *testing.T, s *shells) {
			s.onUse = func(context.Context, string) error { time.Sleep(5 * idle); return nil }
			assert.Assert(t, s.do(t, "use", `{}`).Success())
		}, 6 * idle},
		{"not while one of two calls uses it", func(t *testing.T, s *shells) {
			s.onUse = func(context.Context, string) error { time.Sleep(2 * idle); return nil }
			done := make(chan struct{})
			go func() { s.do(t, "use", `{}`); close(done) }()
			time.Sleep(idle)
			s.do(t, "use", `{}`)
			<-done
		}, 4 * idle},
		{"a call that fails has used it too", func(t *testing.T, s *shells) {
			s.onUse = func(context.Context, string) error { time.Sleep(2 * idle); panic("boom") }
			assert.Equal(t, s.do(t, "use", `{}`).Err.Code, dispatch.InternalError)
		}, 3 * idle},
		{"a call that gets it many times uses it once", func(t *testing.T, s *shells) {
			s.onUse = func(ctx context.Context, id string) error {
				for range 10 {
					time.Sleep(idle / 2)
					if _, err := s.all.Get(ctx, id); err != nil {
						return err
					}
				}
				time.Sleep(idle)
				return nil
			}
			assert.Assert(t, s.do(t, "use", `{}`).Success())
		}, 7 * idle},
		{"outside of a call it is idle from then on", func(t *testing.T, s *shells) {
			time.Sleep(idle / 2)
			_, err := s.all.Get(t.Context(), "a")
			assert.NilError(t, err)
		}, idle + idle/2},
		{"looking at the list is no use", func(t *testing.T, s *shells) {
			time.Sleep(idle / 2)
			assert.Equal(t, string(s.do(t, "list", `{}`).Data), `["a"]`)
		}, idle},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShells(dispatch.SessionOptions[int]{Idle: idle})
				closed := make(chan time.Time, 1)
				s.onClose = func(context.Context, string) error { closed <- time.Now(); return nil }
				start := time.Now()
				s.openAll(t, "a")
				tc.use(t, s)
				assert.Equal(t, (<-closed).Sub(start), tc.want)
				synctest.Wait()
				assert.Equal(t, s.do(t, "use", `{}`).Err.Code, dispatch.NotRunning)
				assert.DeepEqual(t, s.gone(), []string{"a#1"})
			})
		})
	}
}

func TestIdleTimeOfNoneIsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShells(dispatch.SessionOptions[int]{})
		s.openAll(t, "a")
		time.Sleep(10_000 * time.Hour)
		synctest.Wait()
		assert.DeepEqual(t, s.ids(t.Context()), []string{"a"})
	})
}

// A session that was closed or whose time came while a call used it does not come back, and is
// closed once.
func TestIdleTimeOfAClosedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShells(dispatch.SessionOptions[int]{Idle: time.Minute})
		s.openAll(t, "a")
		s.onUse = func(context.Context, string) error {
			_, err := s.all.Close(context.Background(), "a")
			return err
		}
		assert.Assert(t, s.do(t, "use", `{}`).Success())
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.DeepEqual(t, s.gone(), []string{"a#1"})
	})
}

// A call that comes in the moment in which the idle time is over either finds the session, and has
// it as long as it runs, or does not.
func TestUseInTheMomentOfExpiry(t *testing.T) {
	found := map[bool]int{}
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			s := newShells(dispatch.SessionOptions[int]{Idle: time.Second})
			s.openAll(t, "a")
			s.onUse = func(context.Context, string) error {
				time.Sleep(time.Minute)
				if gone := s.gone(); len(gone) > 0 {
					return fmt.Errorf("closed while in use: %v", gone)
				}
				return nil
			}
			time.Sleep(time.Second)
			e := s.do(t, "use", `{}`)
			assert.Assert(t, e.Success() ||
				e.Err.Code == dispatch.NotRunning, "%s", s.bench.log.String())
			found[e.Success()]++
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.DeepEqual(t, s.gone(), []string{"a#1"})
		})
	}
	t.Logf("found: %v", found)
}

// An operation may ask for its session as often as it likes, for as long as it waits: that takes no
// memory.
func TestGetAgainTakesNoMemory(t *testing.T) {
	s := newShells(dispatch.SessionOptions[int]{Idle: time.Hour})
	s.openAll(t, "a")
	var allocs float64
	s.onUse = func(ctx context.Context, id string) error {
		allocs = testing.AllocsPerRun(1000, func() {
			if _, err := s.all.Get(ctx, id); err != nil {
				t.Error(err)
			}
		})
		return nil
	}
	assert.Assert(t, s.do(t, "use", `{}`).Success())
	assert.Equal(t, allocs, 0.0)
}

// List tells when each session was opened and used.
func TestSessionInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShells(dispatch.SessionOptions[int]{})
		start := time.Now()
		s.openAll(t, "a")
		s.onUse = func(context.Context, string) error { time.Sleep(time.Minute); return nil }
		time.Sleep(time.Hour)
		assert.Assert(t, s.do(t, "use", `{}`).Success())
		info := s.all.List(t.Context())
		assert.DeepEqual(t, info,
			[]dispatch.SessionInfo[int]{
				{ID: "a", Value: 1, Opened: start, Used: start.Add(time.Hour + time.Minute)}})
		info[0].ID = "changed"
		assert.DeepEqual(t, s.ids(t.Context()), []string{"a"})
	})
}

// There are never more sessions than there may be, those that are being opened and closed counted.
func TestSessionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShells(dispatch.SessionOptions[int]{Max: 2})
		s.openAll(t, "a")
		full := func() {
			t.Helper()
			e := s.do(t, "open", `{"id":"more"}`)
			assert.Assert(t, errors.Is(e.Err, dispatch.StateError), e.Err)
			assert.Assert(t, e.Err.Recoverable)
			assert.Equal(t, e.Err.Message,
				"there are 2 sessions, which is the limit; close one first")
		}
		release := make(chan error)
		s.onOpen = func(context.Context, string) error { return <-release }
		opened := make(chan dispatch.Envelope)
		start := func() {
			go func() { opened <- s.do(t, "open", `{"id":"b"}`) }()
			synctest.Wait()
		}
		start()
		full()
		release <- errors.New("it does not start")
		assert.Equal(t, (<-opened).Err.Code, dispatch.InternalError)

		start() // room is free again
		full()
		release <- dispatch.Errorf(dispatch.StateError, "not now")
		assert.Equal(t, (<-opened).Err.Message, "not now")

		s.onOpen = func(context.Context, string) error { panic("boom") }
		assert.Equal(t, s.do(t, "open", `{"id":"b"}`).Err.Code, dispatch.InternalError)
		s.onOpen = nil
		s.openAll(t, "b")
		full()

		s.onClose = func(context.Context, string) error { return <-release }
		go func() { opened <- s.do(t, "close", `{"session":"b"}`) }()
		synctest.Wait()
		full()
		release <- nil
		assert.Equal(t, string((<-opened).Data), "true")
		s.openAll(t, "c")
		assert.DeepEqual(t, s.gone(), []string{"b#2"})
	})
}

func TestSixtyFourSessionsIfNotSaid(t *testing.T) {
	s := newShells(dispatch.SessionOptions[int]{})
	for i := range 64 {
		s.openAll(t, fmt.Sprint("s", i))
	}
	assert.Assert(t, errors.Is(s.do(t, "open", `{"id":"more"}`).Err, dispatch.StateError))
}

// An id that cannot be used is refused, and what was opened is closed.
func TestIDThatIsTakenOrNone(t *testing.T) {
	s := newShells(dispatch.SessionOptions[int]{Max: 2})
	s.openAll(t, "a")
	e := s.do(t, "open", `{"id":"a"}`)
	assert.Equal(t, e.Err.Code, dispatch.StateError)
	assert.Equal(t, e.Err.Message, `there is a session "a" already`)
	assert.Equal(t, e.Session, "")
	assert.DeepEqual(t, s.gone(), []string{"a#2"})
	assert.Equal(t, string(s.do(t, "use", `{}`).Data), "1", "the one that has the id lives on")

	assert.Equal(t, s.do(t, "open", `{"id":""}`).Err.Code, dispatch.InternalError,
		"a mistake of the operation's author")
	assert.DeepEqual(t, s.gone(), []string{"a#2", "#3"})

	assert.Equal(t, string(s.do(t, "close", `{}`).Data), "true")
	s.openAll(t, "a", "b")
}
