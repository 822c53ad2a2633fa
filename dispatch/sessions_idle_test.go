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

// A session is closed when no call has used it for the idle time, and not before.
func TestIdleSessionExpires(t *testing.T) {
	const idle = time.Minute
	for _, tc := range []struct {
		rule string
		use  func(t *testing.T, s *shellService) // runs after the session was opened
		want time.Duration                       // from opening to closing
	}{
		{"idle since it was opened", func(*testing.T, *shellService) {}, idle},
		{"a use restarts the idle time", func(t *testing.T, s *shellService) {
			time.Sleep(idle - 1)
			assert.Assert(t, s.do(t, "use", `{}`).Err == nil)
		}, 2*idle - 1},
		{"not while a call uses it", func(t *testing.T, s *shellService) {
			s.onUse = func(context.Context, string) error { time.Sleep(5 * idle); return nil }
			assert.Assert(t, s.do(t, "use", `{}`).Err == nil)
		}, 6 * idle},
		{"not while one of two calls uses it", func(t *testing.T, s *shellService) {
			s.onUse = func(context.Context, string) error { time.Sleep(2 * idle); return nil }
			done := make(chan struct{})
			go func() { s.do(t, "use", `{}`); close(done) }()
			time.Sleep(idle)
			s.do(t, "use", `{}`)
			<-done
		}, 4 * idle},
		{"a call that fails has used it too", func(t *testing.T, s *shellService) {
			s.onUse = func(context.Context, string) error { time.Sleep(2 * idle); panic("boom") }
			assert.Equal(t, s.do(t, "use", `{}`).Err.Code, dispatch.InternalError)
		}, 3 * idle},
		{"a call that gets it many times uses it once", func(t *testing.T, s *shellService) {
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
			assert.Assert(t, s.do(t, "use", `{}`).Err == nil)
		}, 7 * idle},
		{"Get outside of a call restarts the idle time", func(t *testing.T, s *shellService) {
			time.Sleep(idle / 2)
			_, err := s.all.Get(t.Context(), "a")
			assert.NilError(t, err)
		}, idle + idle/2},
		{"List does not count as use", func(t *testing.T, s *shellService) {
			time.Sleep(idle / 2)
			assert.Equal(t, string(s.do(t, "list", `{}`).Data), `["a"]`)
		}, idle},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShellService(dispatch.SessionOptions[int]{Idle: idle})
				closed := make(chan time.Time, 1)
				s.onClose = func(context.Context, string) error { closed <- time.Now(); return nil }
				start := time.Now()
				s.openAll(t, "a")
				tc.use(t, s)
				assert.Equal(t, (<-closed).Sub(start), tc.want)
				synctest.Wait()
				assert.Equal(t, s.do(t, "use", `{}`).Err.Code, dispatch.NotRunning)
				assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
			})
		})
	}
}

func TestZeroIdleNeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.openAll(t, "a")
		time.Sleep(10_000 * time.Hour)
		synctest.Wait()
		assert.DeepEqual(t, s.ids(t.Context()), []string{"a"})
	})
}

// A session that a call closes while it uses the session is closed once, and its idle timer does
// not start again.
func TestClosedSessionDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{Idle: time.Minute})
		s.openAll(t, "a")
		s.onUse = func(context.Context, string) error {
			_, err := s.all.Close(context.Background(), "a")
			return err
		}
		assert.Assert(t, s.do(t, "use", `{}`).Err == nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
	})
}

// A call that starts when the idle time ends either finds the session, which then stays open while
// the call runs, or gets not_running.
func TestUseAtExpiry(t *testing.T) {
	found := map[bool]int{}
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			s := newShellService(dispatch.SessionOptions[int]{Idle: time.Second})
			s.openAll(t, "a")
			s.onUse = func(context.Context, string) error {
				time.Sleep(time.Minute)
				if gone := s.closedSessions(); len(gone) > 0 {
					return fmt.Errorf("closed while in use: %v", gone)
				}
				return nil
			}
			time.Sleep(time.Second)
			e := s.do(t, "use", `{}`)
			assert.Assert(t, e.Err == nil ||
				e.Err.Code == dispatch.NotRunning, "%s", s.fixture.log.String())
			found[e.Err == nil]++
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
		})
	}
	t.Logf("found: %v", found)
}

// Repeated calls of Get in one operation take no memory.
func TestGetAgainTakesNoMemory(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{Idle: time.Hour})
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
	assert.Assert(t, s.do(t, "use", `{}`).Err == nil)
	assert.Equal(t, allocs, 0.0)
}

// List returns when each session was opened and last used.
func TestSessionInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		start := time.Now()
		s.openAll(t, "a")
		s.onUse = func(context.Context, string) error { time.Sleep(time.Minute); return nil }
		time.Sleep(time.Hour)
		assert.Assert(t, s.do(t, "use", `{}`).Err == nil)
		info := s.all.List(t.Context())
		assert.DeepEqual(t, info,
			[]dispatch.SessionInfo[int]{
				{ID: "a", Value: 1, Opened: start, Used: start.Add(time.Hour + time.Minute)}})
		info[0].ID = "changed"
		assert.DeepEqual(t, s.ids(t.Context()), []string{"a"})
	})
}

// The limit counts sessions that are being opened or closed, too.
func TestSessionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{Max: 2})
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

		start() // the place is free again
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
		assert.DeepEqual(t, s.closedSessions(), []string{"b#2"})
	})
}

func TestDefaultMaxSessions(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	for i := range 64 {
		s.openAll(t, fmt.Sprint("s", i))
	}
	assert.Assert(t, errors.Is(s.do(t, "open", `{"id":"more"}`).Err, dispatch.StateError))
}

// Open refuses an id that is taken or empty, and closes the value.
func TestOpenRefusesIDs(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{Max: 2})
	s.openAll(t, "a")
	e := s.do(t, "open", `{"id":"a"}`)
	assert.Equal(t, e.Err.Code, dispatch.StateError)
	assert.Equal(t, e.Err.Message, `there is a session "a" already`)
	assert.Equal(t, e.Session, "")
	assert.DeepEqual(t, s.closedSessions(), []string{"a#2"})
	assert.Equal(t, string(s.do(t, "use", `{}`).Data), "1", "the session with the id stays open")

	assert.Equal(t, s.do(t, "open", `{"id":""}`).Err.Code, dispatch.InternalError,
		"an empty id is an error of the program")
	assert.DeepEqual(t, s.closedSessions(), []string{"a#2", "#3"})

	assert.Equal(t, string(s.do(t, "close", `{}`).Data), "true")
	s.openAll(t, "a", "b")
}
