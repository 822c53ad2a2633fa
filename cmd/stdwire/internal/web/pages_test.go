package web

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// newTestPages returns the pages of a command line without servers, which end with the test.
func newTestPages(t *testing.T) *pages {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, t.TempDir())
	}
	t.Chdir(t.TempDir())
	std := &term.Streams{Err: &term.Console{W: new(strings.Builder)}}
	p := newPages(&options{target: target.NewTarget()}, std)
	ctx, cancel := context.WithCancel(t.Context())
	p.ctx = ctx
	t.Cleanup(func() {
		cancel()
		p.wg.Wait()
	})
	return p
}

// openTestPage adds a page of a gateway, which has ended if err is not nil.
func (p *pages) openTestPage(pid int, err error) (ended *bool) {
	ended = new(bool)
	one := &openPage{opened: make(chan struct{}), address: "http://127.0.0.1:1/",
		options: &options{watched: &watchedGateway{err: err}}, end: func() { *ended = true }}
	close(one.opened)
	p.open[pid] = one
	return ended
}

// A page that takes long to open delays no other one, and is given up with the request.
func TestPagesOpenApart(t *testing.T) {
	p := newTestPages(t)
	p.open[7] = &openPage{opened: make(chan struct{})} // its gateway does not answer
	waits, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() {
		_, err := p.address(waits, 7)
		failed <- err
	}()
	address, err := p.address(t.Context(), 0)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(address, "#token="))
	again, err := p.address(t.Context(), 0)
	assert.NilError(t, err)
	assert.Equal(t, again, address)
	errGone := errors.New("the page has gone")
	cancel(errGone)
	assert.ErrorIs(t, <-failed, errGone)
}

// A page whose gateway has ended gives way when there is no room, and to a new gateway of its
// process. Other pages stay.
func TestPagesOfEndedGateways(t *testing.T) {
	p := newTestPages(t)
	errEnded := errors.New("the gateway has ended")
	var alive []*bool
	for pid := range maxPages - 1 {
		alive = append(alive, p.openTestPage(pid+2, nil))
	}
	old := p.openTestPage(1, errEnded)
	_, err := p.address(t.Context(), 0)
	assert.NilError(t, err)
	assert.Assert(t, *old)
	_, err = p.address(t.Context(), 1)
	assert.ErrorContains(t, err, "too many pages are open")
	for i, ended := range alive {
		assert.Assert(t, !*ended, "%d", i)
	}
	reused := p.openTestPage(2, errEnded)
	_, err = p.address(t.Context(), 2) // no gateway runs
	assert.ErrorContains(t, err, "no gateway is running")
	assert.Assert(t, *reused)
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Equal(t, len(p.open), maxPages-1)
}
