package runcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/server"
)

// serverOperations adds the tools of configured servers to the catalog of stdwire run. It adds
// those of a server when a command line first names it, and reads the configuration only then.
type serverOperations struct {
	target.ConfigFlags
	profile string
	save    string // directory; "" means that nothing is saved

	std        *term.Streams
	ctx        context.Context
	log        *slog.Logger
	catalog    *dispatch.Catalog
	saver      *output.Saver
	builtin    []string // the built-in services
	remembered bool     // only remembered tools are added; no server is started
	CanAsk     bool     // questions of servers are asked at the terminal
	// Closed returns the flag that offers a built-in operation, or "".
	Closed func(operation string) string
	Yes    bool // a question that only asks for a confirmation is confirmed

	prompter  term.Prompter // shared by all servers
	selection *target.Selection
	gateway   *gateway.Gateway
	added     []string // services
	lastError error    // of the last call; nil if it succeeded
}

func (f *serverOperations) Flags() []command.Flag {
	return append(f.ConfigFlags.Flags(), target.ProfileFlag(&f.profile), output.SaveFlag(&f.save))
}

// Begin sets the catalog, which has the built-in operations. word is the first of the command line.
// Call End even if it fails.
func (f *serverOperations) Begin(ctx context.Context, std *term.Streams, catalog *dispatch.Catalog,
	log *slog.Logger, word string) (err error) {
	f.prompter = std.Prompter()
	f.ctx, f.std, f.catalog, f.log = ctx, std, catalog,
		slog.New(target.SuppressHandler[*host.UnavailableError]{Handler: log.Handler()})
	for _, op := range catalog.Operations() {
		service, _, _ := strings.Cut(op.Name(), ".")
		if !slices.Contains(f.builtin, service) {
			f.builtin = append(f.builtin, service)
		}
	}
	if service, _, _ := strings.Cut(word, "."); f.save != "" && slices.Contains(f.builtin, service) {
		return command.Usagef("--save is for the tools of servers").WithHint(
			"leave it out: " + word + " returns no binary content")
	}
	f.saver, err = output.OpenSaver(f.save)
	return err
}

func (f *serverOperations) End() {
	f.saver.Close()
	if f.gateway != nil {
		f.gateway.Close()
	}
}

// open loads the configuration and makes the gateway, once.
func (f *serverOperations) open() error {
	if f.selection == nil {
		chosen, err := f.Select(f.profile)
		if err != nil {
			return err
		}
		f.selection = chosen
	}
	if f.gateway != nil || len(f.selection.Servers) == 0 {
		return nil
	}
	pins, err := target.OpenPins()
	if err != nil {
		return err
	}
	// No client connects to this server, but a gateway needs one.
	s := server.Options{Logger: f.log}.New(server.Info{Name: "stdwire", Version: command.Version()},
		dispatch.NewCatalog())
	f.gateway = gateway.Options{Logger: f.log, PinFile: pins.Path(), CacheDir: target.RememberDir(),
		Catalog: f.catalog}.New(s)
	f.gateway.Order(target.IDs(f.selection.Servers)...)
	return nil
}

// Find adds the tools of the server that a command line begins with.
func (f *serverOperations) Find(words []string) ([]string, error) {
	words, err := f.find(words)
	if err == nil {
		return words, nil
	}
	f.lastError = err
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		return nil, e
	}
	code, text := dispatch.UpstreamError, err.Error()
	if failure, ok := errors.AsType[*command.Failure](err); ok {
		codes := map[string]dispatch.Code{"denied": dispatch.PermissionDenied,
			"untrusted": dispatch.PermissionDenied, "config": dispatch.StateError,
			"usage": dispatch.InvalidInput}
		if code, ok = codes[failure.Code]; !ok {
			code = dispatch.InternalError
		}
		if failure.Hint != "" {
			text += "; " + failure.Hint
		}
	}
	return nil, dispatch.Errorf(code, "%s", text)
}

// find is Find with unclassified errors.
func (f *serverOperations) find(words []string) ([]string, error) {
	if service, _, _ := strings.Cut(words[0], "."); slices.Contains(f.builtin, service) {
		return words, f.closed(words)
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	s, rest := f.server(words[0])
	if s == nil {
		return words, cmp.Or(f.closed(words), f.unknown(words[0]))
	}
	words = append([]string{itemname.Service(s.ID) + rest}, words[1:]...)
	if err := f.start(s); err != nil || f.remembered || f.has(strings.Join(words, ".")) {
		return words, err
	}
	// the server may have added the tool since its last start
	if err := f.refresh(s); err != nil || f.has(strings.Join(words, ".")) {
		return words, err
	}
	tool := strings.TrimPrefix(strings.Join(words, "."), itemname.Service(s.ID)+".")
	return words, f.withheld(s, tool)
}

// closed returns the error for a built-in operation that a flag of stdwire run would offer, or nil
// for other words.
func (f *serverOperations) closed(words []string) error {
	if flag := f.Closed(strings.Join(words, ".")); flag != "" {
		return dispatch.Errorf(dispatch.PermissionDenied, "it is offered with %s: stdwire run %s %s",
			flag, flag, strings.Join(words, " "))
	}
	return nil
}

// withheld returns the error for a tool of the server that the gateway withholds, or nil for
// another tool. If tool is "", it stands for any tool.
func (f *serverOperations) withheld(s *config.Server, tool string) error {
	for _, w := range f.gateway.Withheld()[s.ID] {
		if (tool == "" || w.Name == tool) && strings.HasPrefix(string(w.Kind), "tool") {
			described := gatewaytext.DescribeWithheld(s.ID, s.File, w)
			return dispatch.Errorf(dispatch.PermissionDenied, "the tool %.100q is withheld: %s; %s",
				w.Name, printable.Line(described.Why), printable.Line(described.Remedy))
		}
	}
	return nil
}

// refresh starts a server and adds its current tools.
func (f *serverOperations) refresh(s *config.Server) error {
	err := f.gateway.Refresh(f.ctx, s.ID)
	if f.ctx.Err() != nil {
		return dispatch.Errorf(dispatch.Cancelled, "interrupted while %s was started", s.ID)
	}
	return err
}

// start starts a server and adds its tools.
func (f *serverOperations) start(s *config.Server) error {
	service := itemname.Service(s.ID)
	if slices.Contains(f.added, service) {
		return nil
	}
	for _, d := range f.selection.DiagnosticsFor(s.ID) {
		if d.Severity == config.SeverityWarning && !f.remembered {
			f.std.Err.Printf("warning: %v", d)
		}
	}
	if err := f.checkStart(s); err != nil {
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
	if err := f.refresh(s); err != nil || f.has(service) {
		// the filter allows none of the remembered tools
		return err
	}
	if err := f.withheld(s, ""); err != nil {
		return err
	}
	return dispatch.Errorf(dispatch.NotFound,
		"the server %s has no tools, or none that the configuration allows", s.ID)
}

// server returns the server whose id or service is word, or begins word if the rest of an
// operation's name follows after a dot. It returns nil if there is none or the service is built in.
func (f *serverOperations) server(word string) (found *config.Server, rest string) {
	longest := 0
	for _, s := range f.selection.Servers {
		for _, name := range []string{s.ID, itemname.Service(s.ID)} {
			more, ok := strings.CutPrefix(word, name)
			if ok && (more == "" || more[0] == '.') && len(name) > longest &&
				!slices.Contains(f.builtin, itemname.Service(s.ID)) {
				found, rest, longest = s, more, len(name)
			}
		}
	}
	return found, rest
}

// unknown returns an error that lists the servers, for a word that is not the name of a server. It
// returns nil if there are no servers.
func (f *serverOperations) unknown(word string) error {
	if len(f.selection.Servers) == 0 || f.remembered {
		return nil
	}
	names := slices.Clone(f.builtin)
	for _, s := range f.selection.Servers {
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

// checkStart returns an error if a server may not be started.
func (f *serverOperations) checkStart(s *config.Server) error {
	switch {
	case s.Err != nil:
		return target.ConfigFailure(s.Err)
	case s.Disabled:
		return &command.Failure{Code: "denied", Server: s.ID, Why: "it is disabled at " +
			s.Position.String(), Hint: "enable it there"}
	}
	if err := config.UserStore(f.selection.Env).Check(s); err != nil {
		return target.ConfigFailure(err)
	}
	return nil
}

var errNotStarted = errors.New("it must not be started")

// add adds a server to the gateway.
func (f *serverOperations) add(s *config.Server) error {
	env := *f.selection.Env
	if f.CanAsk {
		env.Ask = target.AskInput(f.ctx, f.prompter, s.ID)
	}
	up := target.GatewayUpstream(s, f.std,
		func() (*config.Endpoint, error) { return s.Resolve(&env) }, f.gateway, nil, f.log)
	up.Sharing = host.Shared // one stdwire run is one session
	if f.remembered {
		up.Connect = func(context.Context, string, client.Options) (*client.Client,
			error) {
			return nil, errNotStarted
		}
	}
	if f.CanAsk {
		elicit.NewAsker(s.ID, f.std.Err, f.prompter).Answer(&up.Options)
	}
	if f.Yes {
		elicit.Confirm(&up.Options)
	}
	if err := f.gateway.Add(up); err != nil {
		return err
	}
	f.added = append(f.added, itemname.Service(s.ID))
	return nil
}

// has reports whether name is an operation of the catalog or a prefix of one.
func (f *serverOperations) has(name string) bool {
	return slices.ContainsFunc(f.catalog.Operations(), func(op *dispatch.Operation) bool {
		return strings.HasPrefix(op.Name()+".", name+".")
	})
}

// AddRemembered adds the remembered tools of all servers without starting any. It returns the
// servers without remembered tools, each with the reason.
func (f *serverOperations) AddRemembered() (without [][2]string, err error) {
	f.remembered, f.log = true, slog.New(slog.DiscardHandler)
	if err := f.open(); err != nil || f.gateway == nil {
		return nil, err
	}
	for _, s := range f.selection.Servers {
		other, _ := f.server(s.ID)
		switch err := f.checkStart(s); {
		case other != s:
			without = append(without,
				[2]string{s.ID, "has the same name as another: stdwire call -s " + s.ID +
					" calls its tools"})
		case err != nil:
			failure, _ := errors.AsType[*command.Failure](err)
			without = append(without, [2]string{s.ID, failure.Why})
		default:
			if err := f.add(s); err != nil {
				return nil, err
			}
		}
	}
	f.gateway.Settle(f.ctx)
	for _, s := range f.selection.Servers {
		if service := itemname.Service(s.ID); slices.Contains(f.added, service) && !f.has(service) {
			without = append(without,
				[2]string{s.ID, "has not been started yet: stdwire run " + s.ID +
					" --help starts it and lists its tools"})
		}
	}
	return without, nil
}

// Intercept is an interceptor that records why calls fail.
func (f *serverOperations) Intercept(next dispatch.Handler) dispatch.Handler {
	return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		made, err := next(ctx, i)
		e, _ := made.(dispatch.Envelope)
		f.lastError = nil
		if e.Err != nil && e.Err.Code == dispatch.UpstreamError {
			f.lastError = e.Err
			result, _ := e.Err.Details.(json.RawMessage)
			inner, ok := dispatch.ParseEnvelope(jsonscan.Member(result, "structuredContent"))
			if ok && inner.Err != nil {
				f.lastError = &command.Failure{Code: output.FailureCode(inner.Err.Code)}
			}
		}
		return made, err
	}
}

// ExitCode returns the exit code of a failed run. It distinguishes a server that cannot be reached
// from a failed tool, as stdwire call does.
func (f *serverOperations) ExitCode(code int) int {
	if failure := target.Explain(f.lastError); failure != nil {
		return failure.ExitCode()
	}
	return code
}

// Show prints the result of a tool as stdwire call does.
func (f *serverOperations) Show(op *dispatch.Operation, e dispatch.Envelope) (shown bool,
	err error) {
	result := e.UpstreamResult
	if result == nil && isContent(e.Data) {
		result = append(append([]byte(`{"content":`), e.Data...), '}')
	}
	service, action, _ := strings.Cut(op.Name(), ".")
	if result == nil || !slices.Contains(f.added, service) {
		return false, nil
	}
	v := &output.Printer{Std: f.std, Format: "text", Save: f.saver}
	return true, v.ToolResult(action, result)
}

// isContent reports whether data is the content of a result.
func isContent(data []byte) bool {
	blocks := 0
	for block := range jsonscan.Elements(data) {
		if kind, ok := jsonscan.Text(jsonscan.Member(block, "type")); !ok ||
			strings.TrimSpace(kind) == "" {
			return false
		}
		blocks++
	}
	return blocks > 0
}
