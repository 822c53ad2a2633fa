package web

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/control"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// pages are the pages of one stdwire web: that of the command line, and those that the user has
// opened from its menu, of the configuration and of running gateways. Each has a port of its own,
// so that no state of one shows up in another.
type pages struct {
	first *options // of the command line
	std   *term.Streams
	ctx   context.Context // of run
	wg    sync.WaitGroup

	mu   sync.Mutex
	open map[int]*openPage // by the process of the gateway; 0 is the configuration
}

// An openPage is a page that is open, or is being opened.
type openPage struct {
	options *options
	end     context.CancelFunc // nil for the page of the command line

	opened  chan struct{} // closed when the rest is known
	address string
	err     error // why it could not be opened
}

// hasLostGateway reports whether the gateway that the page shows has ended.
func (o *openPage) hasLostGateway() bool {
	select {
	case <-o.opened:
		return o.options.watched != nil && o.options.watched.failure() != nil
	default:
		return false
	}
}

const maxPages = 16 // that one stdwire web serves

// newPages returns the pages of a command line.
func newPages(o *options, std *term.Streams) *pages {
	return &pages{first: o, std: std, open: map[int]*openPage{}}
}

// run serves the page of the command line, and what is opened from it, until ctx ends.
func (p *pages) run(ctx context.Context, print func(string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer p.wg.Wait()
	defer cancel()
	p.ctx = ctx
	o := p.first
	if o.tap || o.file != "" || !o.isConfiguration() {
		return o.runSite(ctx, p.std, nil, print) // of one server, or a recording
	}
	return o.runSite(ctx, p.std, p, func(address string) error {
		if at, err := url.Parse(address); err == nil {
			at.Fragment = "" // the token works once
			first := &openPage{options: o, opened: make(chan struct{}), address: at.String()}
			close(first.opened)
			p.mu.Lock()
			p.open[o.pid] = first
			p.mu.Unlock()
		}
		return print(address)
	})
}

// address returns the address of the page of a gateway, or of the configuration if pid is 0. The
// page is opened if it is not open yet, and stays until stdwire web ends. If its gateway has ended,
// it stays until there is no room for another page.
func (p *pages) address(ctx context.Context, pid int) (string, error) {
	p.mu.Lock()
	one := p.open[pid]
	if one != nil && one.hasLostGateway() { // the process is another one
		p.end(pid)
		one = nil
	}
	if one == nil {
		for other, page := range p.open {
			if len(p.open) >= maxPages && page.hasLostGateway() {
				p.end(other)
			}
		}
		if len(p.open) >= maxPages {
			p.mu.Unlock()
			return "", command.Usagef("too many pages are open").WithHint(
				"end stdwire web and start it again")
		}
		one = p.start(pid)
	}
	p.mu.Unlock()
	select {
	case <-one.opened:
		return one.address, one.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// start begins to open a page. The caller holds mu.
func (p *pages) start(pid int) *openPage {
	t := target.NewTarget()
	t.Configured.ConfigFlags = p.first.target.Configured.ConfigFlags
	ctx, cancel := context.WithCancel(p.ctx)
	one := &openPage{end: cancel, opened: make(chan struct{}), options: &options{target: t,
		listen: "127.0.0.1:0", gateway: pid != 0, pid: pid, calls: p.first.calls}}
	p.open[pid] = one
	p.wg.Go(func() {
		defer cancel()
		err := one.options.runSite(ctx, p.std, p, func(address string) error {
			one.address = address
			close(one.opened)
			return nil
		})
		p.mu.Lock()
		if p.open[pid] == one {
			delete(p.open, pid)
		}
		p.mu.Unlock()
		if one.address == "" {
			one.err = err
			close(one.opened)
		}
	})
	return one
}

// end ends a page, except that of the command line, which is only forgotten. The caller holds mu.
func (p *pages) end(pid int) {
	if end := p.open[pid].end; end != nil {
		end()
	}
	delete(p.open, pid)
}

// routes adds what the menu of the page needs. The receiver is nil if there is nothing else to look
// at.
func (p *pages) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/pages", func(w http.ResponseWriter, r *http.Request) {
		gateways := map[string]int{}
		if p != nil {
			gateways = control.Running(r.Context())
		}
		reply.JSON(w, map[string]any{"gateways": gateways, "other": p != nil})
	})
	post(mux, "/api/pages", func(r *http.Request, in struct{ Pid int }) (any, error) {
		if p == nil {
			return nil, reply.NotFound("other", "page")
		}
		address, err := p.address(r.Context(), in.Pid)
		return map[string]string{"address": address}, err
	})
}
