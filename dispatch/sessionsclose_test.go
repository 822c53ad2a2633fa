package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// Close may be called any number of times.
func TestCloseIsIdempotent(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	s.openAll(t, "a", "b")
	for i, want := range []string{"true", "false", "false"} {
		e := s.do(t, "close", `{"session":"a"}`)
		assert.Assert(t, e.Err == nil, "%d: %v", i, e.Err)
		assert.Equal(t, string(e.Data), want)
	}
	e := s.do(t, "close", `{"session":"never-opened"}`)
	assert.Equal(t, string(e.Data), "false", e.Err)
	closed, err := s.all.Close(t.Context(), "a")
	assert.Assert(t, err == nil && !closed)
	assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
	assert.Equal(t, s.do(t, "use", `{"session":"a"}`).Err.Code, dispatch.NotRunning)
}

func TestCloseWithoutAnIDSelectsLikeGet(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	assert.Equal(t, s.do(t, "close", `{}`).Err.Code, dispatch.NotRunning)
	s.openAll(t, "a", "b")
	e := s.do(t, "close", `{}`)
	assert.Equal(t, e.Err.Code, dispatch.InvalidInput)
	assert.Equal(t, e.Err.Message, "several sessions are running; say which: a, b")
	_, err := s.all.Close(t.Context(), "")
	assert.Assert(t, errors.Is(err, dispatch.InvalidInput))
	assert.Equal(t, string(s.do(t, "close", `{}`, inSession("b")).Data), "true")
	assert.Equal(t, string(s.do(t, "close", `{}`).Data), "true")
	assert.DeepEqual(t, s.closedSessions(), []string{"b#2", "a#1"})
}

// Close of a session that is being closed waits. Until it returns, the session cannot be used, and
// its id is taken.
func TestSecondCloseWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.onClose = func(context.Context, string) error { time.Sleep(10 * time.Second); return nil }
		s.openAll(t, "a", "b")
		first := make(chan dispatch.Envelope, 1)
		go func() { first <- s.do(t, "close", `{"session":"a"}`) }()
		synctest.Wait()

		used := s.do(t, "use", `{"session":"a"}`)
		assert.Equal(t, used.Err.Message, `no session "a" is running, only b`)
		assert.Equal(t, s.do(t, "use", `{}`).Session, "b")
		start := time.Now()
		second := s.do(t, "close", `{"session":"a"}`)
		assert.Equal(t, string(second.Data), "false", second.Err)
		assert.Equal(t, time.Since(start), 10*time.Second)
		assert.Equal(t, string((<-first).Data), "true")
		assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
	})
}

func TestIDOfASessionThatIsBeingClosedIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.onClose = func(context.Context, string) error { time.Sleep(10 * time.Second); return nil }
		s.openAll(t, "a")
		go s.all.Close(t.Context(), "a")
		synctest.Wait()
		assert.Equal(t, s.do(t, "open", `{"id":"a"}`).Err.Code, dispatch.StateError)
		synctest.Wait()
		s.openAll(t, "a")
		assert.DeepEqual(t, s.closedSessions(), []string{"a#1", "a#2"})
	})
}

func TestSecondCloseGetsTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.onClose = func(context.Context, string) error {
			time.Sleep(10 * time.Second)
			return errors.New("stuck")
		}
		s.openAll(t, "a")
		start := time.Now()
		go s.all.Close(t.Context(), "a")
		synctest.Wait()

		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed, err := s.all.Close(hasty, "a")
		assert.Assert(t, !closed)
		assert.Assert(t, errors.Is(err, context.DeadlineExceeded), err)
		assert.Equal(t, time.Since(start), time.Second)

		closed, err = s.all.Close(t.Context(), "a")
		assert.Assert(t, !closed)
		assert.Error(t, err, "stuck") // the second call gets the error of the first
		assert.Equal(t, time.Since(start), 10*time.Second)

		closed, err = s.all.Close(t.Context(), "a")
		assert.Assert(t, !closed && err == nil) // the session was removed nevertheless
		assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
	})
}

func TestCloseThatPanicsIsAnError(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	s.onClose = func(context.Context, string) error { panic("boom") }
	s.openAll(t, "a", "b")
	closed, err := s.all.Close(t.Context(), "a")
	assert.Assert(t, closed)
	assert.Error(t, err, "panic: boom")
	assert.Equal(t, s.do(t, "close", `{}`).Err.Code, dispatch.InternalError)
	assert.DeepEqual(t, s.ids(t.Context()), []string{})
	s.openAll(t, "a")
}

func TestSessionsWithoutClose(t *testing.T) {
	all := dispatch.SessionOptions[string]{}.New()
	id, err := all.Open(t.Context(),
		func(context.Context) (string, string, error) { return "a", "value", nil })
	assert.NilError(t, err)
	assert.Equal(t, id, "a")
	closed, err := all.Close(t.Context(), "a")
	assert.Assert(t, closed && err == nil)
}

// Shutdown closes all sessions, the last one opened first.
func TestShutdownClosesInReverse(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	s.openAll(t, "a", "b", "c")
	s.onClose = func(_ context.Context, id string) error {
		if id == "b" {
			return errors.New("stuck")
		}
		return nil
	}
	assert.Error(t, s.all.Shutdown(t.Context()), `session "b": stuck`)
	assert.DeepEqual(t, s.closedSessions(), []string{"c#3", "b#2", "a#1"})
	assert.DeepEqual(t, s.ids(t.Context()), []string{})
	assert.NilError(t, s.all.Shutdown(t.Context()))

	refused := s.do(t, "open", `{"id":"d"}`)
	assert.Equal(t, refused.Err.Code, dispatch.StateError)
	assert.Equal(t, refused.Err.Message, "no session can be opened any more: the program is ending")
	assert.Equal(t, s.opened, 3, "open must not be called")
}

func TestShutdownOfNothing(t *testing.T) {
	assert.NilError(t, dispatch.SessionOptions[int]{}.New().Shutdown(t.Context()))
}

// Each session gets an equal part of the remaining time, so one that takes all of its part leaves
// time for the others.
func TestShutdownSharesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.openAll(t, "a", "b", "c", "d")
		shares := map[string]time.Duration{}
		s.onClose = func(ctx context.Context, id string) error {
			deadline, _ := ctx.Deadline()
			shares[id] = time.Until(deadline)
			if id == "d" || id == "b" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		start := time.Now()
		err := s.all.Shutdown(ctx)
		assert.Error(t, err,
			"session \"d\": context deadline exceeded\nsession \"b\": context deadline exceeded")
		// d takes its quarter of 12 s; c takes nothing of its third of 9 s; b takes its half of 9
		// s.
		assert.DeepEqual(t, shares,
			map[string]time.Duration{"d": 3 * time.Second, "c": 3 * time.Second,
				"b": 4500 * time.Millisecond, "a": 4500 * time.Millisecond})
		assert.Equal(t, time.Since(start), 7500*time.Millisecond)
		assert.DeepEqual(t, s.closedSessions(), []string{"d#4", "c#3", "b#2", "a#1"})
	})
}

// After the deadline, the remaining sessions are closed with a context that has ended.
func TestShutdownAfterItsDeadline(t *testing.T) {
	for name, newContext := range map[string]func(*testing.T) (context.Context,
		context.CancelFunc){
		"deadline": func(t *testing.T) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), -1)
		},
		"cancelled": func(t *testing.T) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellService(dispatch.SessionOptions[int]{})
			s.openAll(t, "a", "b")
			s.onClose = func(ctx context.Context, _ string) error { return ctx.Err() }
			ctx, cancel := newContext(t)
			defer cancel()
			err := s.all.Shutdown(ctx)
			assert.Assert(t, errors.Is(err, ctx.Err()), err)
			assert.Equal(t, strings.Count(err.Error(), "session "), 2)
			assert.DeepEqual(t, s.closedSessions(), []string{"b#2", "a#1"})
		})
	}
}

// A session that is being opened during Shutdown is closed at once, and Shutdown waits for that.
func TestShutdownWaitsForOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.openAll(t, "a")
		s.onOpen = func(context.Context, string) error { time.Sleep(5 * time.Second); return nil }
		s.onClose = func(context.Context, string) error { time.Sleep(time.Second); return nil }
		start, late := time.Now(), make(chan dispatch.Envelope)
		go func() { late <- s.do(t, "open", `{"id":"late"}`) }()
		synctest.Wait()

		hasty, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		assert.Error(t, s.all.Shutdown(hasty),
			"a session is still being opened: context deadline exceeded")
		assert.Equal(t, time.Since(start), 3*time.Second)
		go func() {
			e := <-late
			if assert.Check(t, e.Err != nil) {
				assert.Check(t, e.Err.Error() == `state_error: session "late" was closed at once: the program is ending`)
			}
			assert.Check(t, e.Session == "")
		}()
		assert.NilError(t, s.all.Shutdown(t.Context()))
		assert.Equal(t, time.Since(start), 6*time.Second)
		assert.DeepEqual(t, s.closedSessions(), []string{"a#1", "late#2"})
		synctest.Wait()
	})
}

func TestShutdownWaitsForClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.openAll(t, "a")
		s.onClose = func(context.Context, string) error { time.Sleep(5 * time.Second); return nil }
		start := time.Now()
		go s.all.Close(t.Context(), "a")
		synctest.Wait()
		assert.NilError(t, s.all.Shutdown(t.Context()))
		assert.Equal(t, time.Since(start), 5*time.Second)
		assert.DeepEqual(t, s.closedSessions(), []string{"a#1"})
	})
}

// A session ends when the client that opened it has disconnected for good.
func TestSessionEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.onClose = func(ctx context.Context, id string) error {
			assert.Check(t, ctx.Err() == nil,
				"the context must not end with the client")
			if id == "b" {
				return errors.New("stuck")
			}
			return nil
		}
		client, leave := context.WithCancel(t.Context())
		of := func(c *dispatch.Call) { c.Client = client }
		assert.Assert(t, s.do(t, "open", `{"id":"a"}`, of).Err == nil)
		assert.Assert(t, s.do(t, "open", `{"id":"b"}`, of).Err == nil)
		assert.Assert(t, s.do(t, "open", `{"id":"early"}`, of).Err == nil)
		s.openAll(t, "stays")
		assert.Equal(t, string(s.do(t, "close", `{"session":"early"}`).Data), "true")

		leave()
		synctest.Wait()
		assert.DeepEqual(t, s.ids(t.Context()), []string{"stays"})
		gone := s.closedSessions()
		slices.Sort(gone[1:])
		assert.DeepEqual(t, gone, []string{"early#3", "a#1", "b#2"})
		assert.Assert(t,
			strings.Contains(s.log.String(), `msg="session did not close" session=b error=stuck`),
			s.log.String())
		assert.Equal(t, strings.Count(s.log.String(), "\n"), 1)

		// A session that is opened for a client that has disconnected ends at once.
		assert.Assert(t, s.do(t, "open", `{"id":"late"}`, of).Err == nil)
		synctest.Wait()
		assert.DeepEqual(t, s.ids(t.Context()), []string{"stays"})
	})
}

// A countingContext counts the functions that wait for its end.
type countingContext struct {
	context.Context
	watchers int
}

func (w *countingContext) Done() <-chan struct{} { return make(chan struct{}) }

func (w *countingContext) AfterFunc(func()) (stop func() bool) {
	w.watchers++
	return func() bool { w.watchers--; return true }
}

// The context of a client that stays connected does not retain closed sessions.
func TestClientDoesNotRetainClosedSessions(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	client := &countingContext{Context: t.Context()}
	for range 3 {
		assert.Assert(t, s.do(t, "open", `{"id":"a"}`, func(c *dispatch.Call) {
			c.Client = client
		}).Err == nil)
		assert.Equal(t, client.watchers, 1)
		assert.Assert(t, s.do(t, "close", `{}`).Err == nil)
		assert.Equal(t, client.watchers, 0)
	}
}

// Closing an idle session is limited in time, and its goroutine ends, which synctest checks.
func TestBackgroundCloseIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{Idle: time.Minute})
		start := time.Now()
		took := make(chan time.Duration, 1)
		s.onClose = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			took <- time.Since(start)
			return ctx.Err()
		}
		s.openAll(t, "a")
		assert.Equal(t, <-took, time.Minute+10*time.Second)
		synctest.Wait()
		assert.Assert(t,
			strings.Contains(s.log.String(), `session=a error="context deadline exceeded"`),
			s.log.String())
	})
}
