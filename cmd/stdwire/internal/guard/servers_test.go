package guard

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// Everything ends in the time that hosts give it: they close stdin, send SIGTERM 2 s later and
// SIGKILL after 2 s more.
func TestServersEndInTime(t *testing.T) {
	closesInput := func(s *Servers) { s.InputEnded() }
	terminates := func(s *Servers) { s.Signalled(syscall.SIGTERM) }
	interrupts := func(s *Servers) { s.Signalled(os.Interrupt) }
	served := func(s *Servers) { s.Served() }
	type event struct {
		at time.Duration // in milliseconds
		do func(*Servers)
	}
	for name, tt := range map[string]struct {
		first  func(*Servers)
		events []event
		want   []string
	}{
		"the input ends": {nil, []event{{0, closesInput}},
			[]string{"2250 SIGTERM", "2900 SIGKILL", "3450 overdue"}},
		"SIGTERM": {nil, []event{{0, terminates}},
			[]string{"500 SIGTERM", "1000 SIGKILL", "1450 overdue"}},
		"the input ends, then SIGTERM": {nil, []event{{0, closesInput}, {2000, terminates}},
			[]string{"2000 SIGTERM", "2750 SIGKILL", "3400 overdue"}},
		"SIGTERM soon after the input": {nil, []event{{0, closesInput}, {100, terminates}},
			[]string{"100 SIGTERM", "850 SIGKILL", "1500 overdue"}},
		"a late SIGTERM delays nothing": {nil, []event{{0, closesInput}, {2500, terminates}},
			[]string{"2250 SIGTERM", "2900 SIGKILL", "3450 overdue"}},
		"two signals": {nil, []event{{0, terminates}, {200, interrupts}},
			[]string{"200 SIGKILL", "700 overdue"}},
		"a server of HTTP": {func(s *Servers) { s.DelaySignal(3 * time.Second) },
			[]event{{0, terminates}},
			[]string{"3500 SIGTERM", "4000 SIGKILL", "4450 overdue"}},
		"a server of HTTP that has answered": {
			func(s *Servers) { s.DelaySignal(3 * time.Second) },
			[]event{{0, terminates}, {100, served}},
			[]string{"600 SIGTERM", "1100 SIGKILL", "1550 overdue"}},
		"no signal": {nil, []event{{0, served}}, nil},
		// Its owner forwards SIGTERM, and the command decides what SIGINT means.
		"a command: the input ends": {nil, []event{{0, closesInput}},
			[]string{"2250 SIGTERM", "2900 SIGKILL", "3450 overdue"}},
		"a command: SIGTERM": {nil, []event{{0, terminates}},
			[]string{"1000 SIGKILL", "1450 overdue"}},
		"a command: the input ends, then SIGTERM": {nil,
			[]event{{0, closesInput}, {2000, terminates}},
			[]string{"2750 SIGKILL", "3400 overdue"}},
		"a command: two signals": {nil, []event{{0, terminates}, {200, terminates}},
			[]string{"200 SIGKILL", "700 overdue"}},
		"a command: SIGINT, then SIGTERM": {nil,
			[]event{{0, interrupts}, {10, interrupts}, {20, terminates}},
			[]string{"1020 SIGKILL", "1470 overdue"}},
		"a command: SIGINT, then the input ends": {nil,
			[]event{{0, interrupts}, {10, closesInput}},
			[]string{"2260 SIGTERM", "2910 SIGKILL", "3460 overdue"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var got []string
				var mu sync.Mutex
				record := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, fmt.Sprint(time.Since(began).Milliseconds(), " ", what))
				}
				s := &Servers{Overdue: func() { record("overdue") }}
				if strings.HasPrefix(name, "a command: ") {
					defer s.forward(recordedGroup{record})()
				} else {
					s.add(recordedGroup{record})
				}
				if tt.first != nil {
					tt.first(s)
				}
				for _, e := range tt.events {
					time.Sleep(time.Until(began.Add(e.at * time.Millisecond)))
					e.do(s)
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				assert.DeepEqual(t, got, tt.want)
				if tt.want != nil {
					_, _, err := s.Start(t.Context(), nil)
					assert.ErrorIs(t, err, ErrEnding)
				}
			})
		})
	}
}

// recordedGroup is a server that records what it is told and does not end.
type recordedGroup struct{ record func(what string) }

func (g recordedGroup) Pid() int   { return 1 }
func (g recordedGroup) AwaitExit() {}
func (g recordedGroup) Terminate() error {
	g.record("SIGTERM")
	return nil
}

func (g recordedGroup) Kill() error {
	g.record("SIGKILL")
	return nil
}

func (g recordedGroup) End() (int, syscall.Signal, error) { return 0, 0, nil }

// A command that has started while signals ended everything is killed.
func TestForwardAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Servers
		s.Signalled(syscall.SIGINT)
		s.Signalled(syscall.SIGINT)
		time.Sleep(time.Minute)
		var seen []string
		remove := s.forward(recordedGroup{func(what string) { seen = append(seen, what) }})
		assert.DeepEqual(t, seen, []string{"SIGKILL"})
		remove()
	})
}

// Programs without servers of their own have none to end.
func TestNoServers(t *testing.T) {
	var s *Servers
	s.DelaySignal(time.Second)
	s.InputEnded()
	s.Signalled(syscall.SIGTERM)
	s.Served()
	s.LeaveUnguarded()
	s.Forward(nil)()
}
