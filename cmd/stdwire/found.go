package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/server"
)

// A found is the servers of the configuration whose tools stdwire run has, each from when it is named. Nothing is read before that.
type found struct {
	configuration
	profile string
	save    string // directory; "": nothing is saved

	std        *streams
	ctx        context.Context
	log        *slog.Logger
	catalog    *dispatch.Catalog
	saver      *saver
	own        []string // the services that are built in
	remembered bool     // no server is started: what it had the last time is all there is
	asks       bool     // who sits at the terminal is asked what servers want to know

	prompter prompter // reads the answers, for all servers
	chosen   *chosen
	gateway  *gateway.Gateway
	added    []string // services
	cause    error    // of what failed last; nil if it did not
}

func (f *found) flags() []flag {
	return append(f.configuration.flags(), profileFlag(&f.profile), saveFlag(&f.save))
}

// begin is for when the catalog is there, with what is built in. Whatever it returns, end is due.
func (f *found) begin(ctx context.Context, std *streams, catalog *dispatch.Catalog, log *slog.Logger) (err error) {
	f.prompter = std.prompter()
	f.ctx, f.std, f.catalog, f.log = ctx, std, catalog, slog.New(untold[*host.UnavailableError]{Handler: log.Handler()})
	for _, op := range catalog.Operations() {
		if service := op.Service(); !slices.Contains(f.own, service) {
			f.own = append(f.own, service)
		}
	}
	f.saver, err = openSaver(f.save)
	return err
}

func (f *found) end() {
	f.saver.close()
	if f.gateway != nil {
		f.gateway.Close()
	}
}

// open reads the configuration, and makes the gateway. Only the first time it does something.
func (f *found) open() error {
	if f.chosen == nil {
		chosen, err := f.choose(f.profile)
		if err != nil {
			return err
		}
		f.chosen = chosen
	}
	if f.gateway != nil || len(f.chosen.servers) == 0 {
		return nil
	}
	pins, err := openPins()
	if err != nil {
		return err
	}
	// Nobody connects to the server: it is there because a gateway has one.
	s := server.Options{Logger: f.log}.New(server.Info{Name: "stdwire", Version: version()}, dispatch.NewCatalog())
	f.gateway = gateway.Options{Logger: f.log, Pins: pins, Remember: rememberDir(), Catalog: f.catalog}.New(s)
	var ids []string
	for _, s := range f.chosen.servers {
		ids = append(ids, s.ID)
	}
	f.gateway.Order(ids...)
	return nil
}

// find has the catalog have the tools of the server that a command line begins with.
func (f *found) find(words []string) ([]string, error) {
	words, err := f.look(words)
	if err == nil {
		return words, nil
	}
	f.cause = err
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		return nil, e
	}
	code, text := dispatch.UpstreamError, err.Error()
	if failure, ok := errors.AsType[*failure](err); ok {
		codes := map[string]dispatch.Code{"denied": dispatch.PermissionDenied, "untrusted": dispatch.PermissionDenied, "config": dispatch.StateError, "usage": dispatch.InvalidInput}
		if code, ok = codes[failure.code]; !ok {
			code = dispatch.InternalError
		}
		if failure.hint != "" {
			text += "; " + failure.hint
		}
	}
	return nil, dispatch.Errorf(code, "%s", text)
}

// look is find with whatever error.
func (f *found) look(words []string) ([]string, error) {
	if service, _, _ := strings.Cut(words[0], "."); slices.Contains(f.own, service) {
		return words, nil
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	s, rest := f.server(words[0])
	if s == nil {
		return words, f.unknown(words[0])
	}
	words = append([]string{host.Service(s.ID) + rest}, words[1:]...)
	if err := f.start(s); err != nil || f.remembered || f.has(strings.Join(words, ".")) {
		return words, err
	}
	return words, f.refresh(s) // it may have that since it was started the last time
}

// refresh has the catalog have the tools that a server has now.
func (f *found) refresh(s *config.Server) error {
	err := f.gateway.Refresh(f.ctx, s.ID)
	if f.ctx.Err() != nil {
		return dispatch.Errorf(dispatch.Cancelled, "interrupted while %s was started", s.ID)
	}
	return err
}

// start has the catalog have the tools of a server.
func (f *found) start(s *config.Server) error {
	service := host.Service(s.ID)
	if slices.Contains(f.added, service) {
		return nil
	}
	for _, d := range f.chosen.about(s.ID) {
		if d.Severity == config.Warning && !f.remembered {
			f.std.err.printf("warning: %v", d)
		}
	}
	if err := f.admit(s); err != nil {
		return err
	}
	if err := f.add(s); err != nil {
		return err
	}
	f.gateway.Settle(f.ctx)
	if f.ctx.Err() != nil {
		return dispatch.Errorf(dispatch.Cancelled, "interrupted while %s was started", s.ID)
	}
	if f.has(service) || f.remembered {
		return nil
	}
	for _, status := range f.gateway.Manager().Status() {
		if status.ID == s.ID && status.Err != nil {
			return &host.UnavailableError{ID: s.ID, Err: status.Err}
		}
	}
	if err := f.refresh(s); err != nil || f.has(service) { // none of what it had the last time may be used
		return err
	}
	return dispatch.Errorf(dispatch.NotFound, "the server %s has no tools, or none that may be used", s.ID)
}

// server returns the one whose ID or service a word is, or begins with if the rest of an operation's name follows behind a dot; nil if there is none, or its service is built in.
func (f *found) server(word string) (found *config.Server, rest string) {
	longest := 0
	for _, s := range f.chosen.servers {
		for _, name := range []string{s.ID, host.Service(s.ID)} {
			more, ok := strings.CutPrefix(word, name)
			if ok && (more == "" || more[0] == '.') && len(name) > longest && !slices.Contains(f.own, host.Service(s.ID)) {
				found, rest, longest = s, more, len(name)
			}
		}
	}
	return found, rest
}

// unknown says what there is in place of a word that is no server; nil if there are none, and it is for the built-in operations to say that.
func (f *found) unknown(word string) error {
	if len(f.chosen.servers) == 0 || f.remembered {
		return nil
	}
	names := slices.Clone(f.own)
	for _, s := range f.chosen.servers {
		if !slices.Contains(names, s.ID) {
			names = append(names, s.ID)
		}
	}
	text := fmt.Sprintf("there is neither an operation nor a server %.100q", word)
	if hint := near.Instead(word, names); hint != "" {
		text += "; " + hint
	}
	return dispatch.Errorf(dispatch.UnknownOperation, "%s", text)
}

// admit is nil if a server may be started.
func (f *found) admit(s *config.Server) error {
	switch {
	case s.Err != nil:
		return misconfigured(s.Err)
	case s.Disabled:
		return &failure{code: "denied", server: s.ID, why: "it is disabled at " + s.Position.String(), hint: "enable it there"}
	}
	if err := config.UserStore(f.chosen.env).Check(s); err != nil {
		return misconfigured(err)
	}
	return nil
}

var errNotStarted = errors.New("it is not to be started")

// add has the gateway have a server.
func (f *found) add(s *config.Server) error {
	env := *f.chosen.env
	if f.asks {
		env.Ask = askInput(f.ctx, f.prompter, s.ID)
	}
	up := new(mounted).server(s, func() (*config.Endpoint, error) { return s.Resolve(&env) }, f.gateway, f.log)
	up.PerSession = false // all of this is one session
	if f.remembered {
		up.Connect = func(context.Context, string, client.Options) (*client.Client, error) { return nil, errNotStarted }
	}
	if f.asks {
		newAsker(s.ID, f.std.err, f.prompter).answer(&up.Options)
	}
	if err := f.gateway.Add(up); err != nil {
		return err
	}
	f.added = append(f.added, host.Service(s.ID))
	return nil
}

// has reports whether the name is one of an operation of the catalog, or begins one.
func (f *found) has(name string) bool {
	return slices.ContainsFunc(f.catalog.Operations(), func(op *dispatch.Operation) bool { return strings.HasPrefix(op.Name()+".", name+".") })
}

// recall has the catalog have what all servers had the last time, without starting any, and returns those that have nothing there, and why.
func (f *found) recall() (without [][2]string, err error) {
	f.remembered, f.log = true, slog.New(slog.DiscardHandler)
	if err := f.open(); err != nil || f.gateway == nil {
		return nil, err
	}
	for _, s := range f.chosen.servers {
		other, _ := f.server(s.ID)
		switch err := f.admit(s); {
		case other != s:
			without = append(without, [2]string{s.ID, "has the name of another: stdwire call -s " + s.ID + " calls its tools"})
		case err != nil:
			failure, _ := errors.AsType[*failure](err)
			without = append(without, [2]string{s.ID, failure.why})
		default:
			if err := f.add(s); err != nil {
				return nil, err
			}
		}
	}
	f.gateway.Settle(f.ctx)
	for _, s := range f.chosen.servers {
		if service := host.Service(s.ID); slices.Contains(f.added, service) && !f.has(service) {
			without = append(without, [2]string{s.ID, "was not started yet: stdwire run " + s.ID + " --help asks what it has"})
		}
	}
	return without, nil
}

// watch notes why calls fail.
func (f *found) watch(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, op *dispatch.Operation, call *dispatch.Call) dispatch.Envelope {
		e := next(ctx, op, call)
		f.cause = nil
		if e.Err != nil && e.Err.Code == dispatch.UpstreamError {
			f.cause = e.Err
		}
		return e
	}
}

// exit is the exit code, which tells a server that cannot be reached from a tool that fails, as those of stdwire call do.
func (f *found) exit(code int) int {
	if failure := explain(f.cause); failure != nil {
		return failure.exit()
	}
	return code
}

// show prints what a tool has returned as stdwire call does.
func (f *found) show(op *dispatch.Operation, e dispatch.Envelope) (shown bool, err error) {
	result := e.Original
	if result == nil && areBlocks(e.Data) {
		result = append(append([]byte(`{"content":`), e.Data...), '}')
	}
	if result == nil || !slices.Contains(f.added, op.Service()) {
		return false, nil
	}
	v := &view{std: f.std, output: "text", save: f.saver}
	return true, v.toolResult(op.Action(), result)
}

// areBlocks reports whether data is the content of a result.
func areBlocks(data []byte) bool {
	blocks := 0
	for block := range jsonscan.Elements(data) {
		if kind, ok := jsonscan.Text(jsonscan.Member(block, "type")); !ok || strings.TrimSpace(kind) == "" {
			return false
		}
		blocks++
	}
	return blocks > 0
}
