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
	open map[int]string // addresses by the process of the gateway; 0 is the configuration
}

const maxPages = 16 // that one stdwire web serves

// newPages returns the pages of a command line.
func newPages(o *options, std *term.Streams) *pages {
	return &pages{first: o, std: std, open: map[int]string{}}
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
		if at, err := url.Parse(address); err == nil && (!o.gateway || o.pid > 0) {
			at.Fragment = "" // the token works once
			p.mu.Lock()
			p.open[o.pid] = at.String()
			p.mu.Unlock()
		}
		return print(address)
	})
}

// address returns the address of the page of a gateway, or of the configuration if pid is 0. The
// page is opened if it is not open yet, and stays until stdwire web ends.
func (p *pages) address(pid int) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[pid] != "" {
		return p.open[pid], nil
	}
	if len(p.open) >= maxPages {
		return "", command.Usagef("too many pages are open").WithHint(
			"end stdwire web and start it again")
	}
	t := target.NewTarget()
	t.Configured.ConfigFlags = p.first.target.Configured.ConfigFlags
	o := &options{target: t, listen: "127.0.0.1:0", gateway: pid != 0, pid: pid, calls: p.first.calls}
	opened, failed := make(chan string, 1), make(chan error, 1)
	p.wg.Go(func() {
		failed <- o.runSite(p.ctx, p.std, p, func(address string) error {
			opened <- address
			return nil
		})
		p.mu.Lock()
		delete(p.open, pid)
		p.mu.Unlock()
	})
	select {
	case address := <-opened:
		p.open[pid] = address
		return address, nil
	case err := <-failed:
		return "", err
	}
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
	post(mux, "/api/pages", func(_ *http.Request, in struct{ Pid int }) (any, error) {
		if p == nil {
			return nil, reply.NotFound("other", "page")
		}
		address, err := p.address(in.Pid)
		return map[string]string{"address": address}, err
	})
}
