package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
)

// A reader that continues from the returned position gets every byte once, or the number of missed
// bytes.
func TestLog(t *testing.T) {
	l := new(Log)
	text, next, missed, grown := l.From(0)
	assert.Equal(t, string(text), "")
	assert.Equal(t, next+missed, int64(0))
	write := func(s string) {
		n, err := l.Write([]byte(s))
		assert.NilError(t, err)
		assert.Equal(t, n, len(s))
	}
	write("one\ntw")
	select {
	case <-grown:
	default:
		t.Fatal("there is more")
	}
	text, next, _, _ = l.From(next)
	assert.Equal(t, string(text), "one\ntw")
	write("o\n")
	text, next, missed, _ = l.From(next)
	assert.Equal(t, string(text), "o\n")
	assert.Equal(t, missed, int64(0))
	for _, at := range []int64{-1, 1 << 40} { // invalid positions
		text, _, _, _ = l.From(at)
		assert.Equal(t, string(text), "one\ntwo\n")
	}

	written := next
	for i := range 20_000 {
		line := fmt.Sprintf("line %d\n", i)
		write(line)
		written += int64(len(line))
		assert.Assert(t, len(l.buf) <= 2*maxLog)
	}
	text, next, missed, _ = l.From(3)
	assert.Equal(t, next, written)
	assert.Equal(t, 3+missed+int64(len(text)), written)
	assert.Assert(t, len(text) <= maxLog && len(text) > maxLog-20)
	assert.Assert(t, strings.HasPrefix(string(text), "line ") &&
		strings.HasSuffix(string(text), "\nline 19999\n"), "whole lines")

	write(strings.Repeat("x", 3*maxLog))
	text, next, missed, _ = l.From(next)
	assert.Equal(t, string(text), strings.Repeat("x", maxLog))
	assert.Equal(t, missed, int64(2*maxLog))
	assert.Equal(t, next, written+3*maxLog)
}

// The log of a server contains the starts and ends of all its processes.
func TestServerLog(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		log, err := m.Log("s")
		assert.NilError(t, err)
		_, err = m.Log("other")
		assert.Assert(t, errors.Is(err, ErrUnknown))
		stamp := func() string { return "-- " + time.Now().UTC().Format(time.RFC3339) + " " }

		want := stamp() + "connected\n"
		assert.NilError(t, use(t, m))
		_, _ = log.Write([]byte("no line end"))
		p.breaks(errors.New("boom"))
		p.kill()
		synctest.Wait()
		want += "no line end\n" + stamp() + "closed the connection\n"
		time.Sleep(1500 * time.Millisecond)
		text, _, _, _ := log.From(0)
		assert.Assert(t, strings.HasPrefix(string(text), want) &&
			strings.HasSuffix(string(text), " boom\n"), "%s", text)

		assert.NilError(t, m.Add(Server{ID: "s", Connect: p.connect}))
		again, err := m.Log("s")
		assert.NilError(t, err)
		assert.Assert(t, again == log, "it goes on")
		m.Remove("s")
		_, err = m.Log("s")
		assert.Assert(t, errors.Is(err, ErrUnknown))
	})
}

// Restart starts a server that is unused or has failed too often. It does not start a server that
// was disabled meanwhile.
func TestRestart(t *testing.T) {
	inBubble(t, Server{}, func(t *testing.T, m *Manager, p *plant) {
		assert.NilError(t, m.Restart("s"))
		synctest.Wait()
		status := m.Status()[0]
		assert.Equal(t, status.State, Ready)
		assert.Equal(t, string(status.Revision), "2026-07-28")
		assert.Assert(t, !status.LastReceived.IsZero() && !status.LastReceived.After(time.Now()))

		p.breaks(errors.New("boom"))
		p.kill()
		time.Sleep(10 * time.Minute)
		assert.Equal(t, state(m), Failed)
		p.breaks(nil)
		assert.NilError(t, m.Restart("s"))
		synctest.Wait()
		assert.Equal(t, state(m), Ready)
		assert.NilError(t, m.Disable("s"))
		assert.Assert(t, errors.Is(m.Restart("s"), ErrDisabled))
		assert.Equal(t, state(m), Disabled)
	})
	inBubble(t, Server{Sharing: PerSession}, func(t *testing.T, m *Manager, p *plant) {
		assert.NilError(t, m.Restart("s"))
		synctest.Wait()
		assert.Equal(t, state(m), Stopped, "for whom?")
	})
	synctest.Test(t, func(t *testing.T) {
		told := make(chan State, 10)
		m := NewManager(func(s Status) { told <- s.State })
		defer m.Close()
		assert.NilError(t,
			m.Add(Server{ID: "s",
				Connect: func(context.Context, string, client.Options) (*client.Client, error) {
					time.Sleep(3 * time.Second) // it ignores the end of its context
					return nil, errors.New("boom")
				}}))
		assert.NilError(t, m.Restart("s"))
		synctest.Wait()
		restarted := make(chan error, 1)
		go func() { restarted <- m.Restart("s") }()
		time.Sleep(time.Second)
		assert.NilError(t, m.Disable("s"))
		assert.ErrorIs(t, <-restarted, ErrDisabled)
		assert.Equal(t, state(m), Disabled)
		var all []State
		for len(told) > 0 {
			all = append(all, <-told)
		}
		assert.DeepEqual(t, all, []State{Stopped, Starting, Disabled})
	})
}
