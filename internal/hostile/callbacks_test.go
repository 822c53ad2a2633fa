// Package hostile attacks what the packages of the module promise to withstand.
package hostile

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// packages take callbacks of an application.
var packages = []string{
	"rpc", "rpc/socket", "rpc/rpchttp", "dispatch", "dispatch/api", "dispatch/cli", "server",
	"server/streamable", "server/auth", "client", "client/streamable", "client/auth", "client/apps", "client/host",
	"client/host/gateway", "rpc/mcp/telemetry",
}

// foreign lists types of other packages with methods that the application implements.
var foreign = []string{
	"slog.Logger", "io.Writer", "io.Reader", "io.ReadWriteCloser", "http.Client",
	"http.RoundTripper", "crypto.Signer",
	"framing.Framing", "rpc.Handler", "rpc.Middleware", "rpc.Hooks", "rpc.Cancellation",
	"client.Transport",
}

// callbacks returns the names of all callbacks that the packages take: fields, parameters and
// interfaces.
func callbacks(t *testing.T) (all []string) {
	t.Helper()
	for _, dir := range packages {
		fset := token.NewFileSet()
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		assert.NilError(t, err)
		var decls []ast.Decl
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			assert.NilError(t, err)
			decls = append(decls, file.Decls...)
		}
		all = append(all, callbacksIn(dir, decls)...)
	}
	return all
}

func callbacksIn(dir string, decls []ast.Decl) (all []string) {
	own := map[string]bool{} // named types of functions and interfaces
	specs := func(yield func(*ast.TypeSpec)) {
		for _, d := range decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						yield(s)
					}
				}
			}
		}
	}
	specs(func(s *ast.TypeSpec) {
		switch x := s.Type.(type) {
		case *ast.FuncType:
			own[s.Name.Name] = s.Name.Name != "CallOption" // only the package itself makes these
		case *ast.InterfaceType:
			own[s.Name.Name] = x.Methods.NumFields() > 0
		}
	})
	calls := func(e ast.Expr) bool {
		found := false
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncType:
				found = true
			case *ast.Ident:
				found = found || own[n.Name]
			case *ast.SelectorExpr:
				found = found || slices.Contains(foreign, types.ExprString(n))
				return false
			}
			return !found
		})
		return found
	}
	specs(func(s *ast.TypeSpec) {
		switch x := s.Type.(type) {
		case *ast.StructType:
			for _, f := range x.Fields.List {
				for _, name := range f.Names {
					if name.IsExported() && calls(f.Type) {
						all = append(all, dir+"."+s.Name.Name+"."+name.Name)
					}
				}
			}
		case *ast.InterfaceType:
			for _, m := range x.Methods.List {
				for _, name := range m.Names {
					if !name.IsExported() {
						continue // no application implements this
					}
					all = append(all, dir+"."+s.Name.Name+"."+name.Name)
				}
			}
		}
	})
	for _, d := range decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() {
			continue
		}
		name := dir + "." + f.Name.Name
		if f.Recv != nil {
			recv := strings.TrimLeft(types.ExprString(f.Recv.List[0].Type), "*")
			if !ast.IsExported(recv) {
				continue
			}
			name = dir + "." + recv + "." + f.Name.Name
		}
		if slices.ContainsFunc(f.Type.Params.List,
			func(p *ast.Field) bool { return calls(p.Type) }) {
			all = append(all, name)
		}
	}
	return all
}

// patience is how long a scenario may take.
const patience = 2 * time.Minute

// A scenarioRun is one run of a scenario, in which one callback misbehaves.
type scenarioRun struct {
	t           *testing.T
	ctx         context.Context
	name        string // of the callback that misbehaves
	misbehave   func()
	calls       atomic.Int32 // of that callback
	constructed atomic.Bool  // whether enterAfterFirst has been called
}

// enter is called first by each callback. It panics or exits the goroutine if that callback
// misbehaves.
func (run *scenarioRun) enter(name string) {
	if name == run.name {
		run.calls.Add(1)
		run.misbehave()
	}
}

// own runs f as an application would, on a goroutine of its own: a function that is called directly
// may panic into its caller.
func own(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	<-done
}

// A scenario calls the callbacks of a package, each by its name, and returns.
var scenarios = map[string]func(run *scenarioRun){
	"rpc": rpcScenario, "rpc/socket": socketScenario, "rpc/rpchttp": rpchttpScenario,
	"dispatch": dispatchScenario, "dispatch/api": apiScenario, "dispatch/cli": cliScenario,
	"server": serverScenario, "server/streamable": streamableScenario,
	"client": clientScenario, "client/auth": authScenario, "client/apps": appsScenario,
	"rpc/mcp/telemetry": telemetryScenario,
	"client/host":       hostScenario, "client/host/gateway": gatewayScenario,
}

// apart lists the callbacks without a scenario, and why.
var apart = map[string]string{
	"rpc.Chain":                                   "what the middleware returns is the Handler",
	"rpc.Options.New":                             "rpc.Options.Framing reads and writes the stream",
	"rpc.Options.Pipe":                            "as New",
	"rpc.Stream":                                  "as New",
	"rpc.ShowErrors":                              "what it returns is the Handler",
	"rpc/rpchttp.ClientOptions.HTTP":              "called by Call, on the caller's goroutine",
	"rpc/socket.Options.ListenAndServe":           "calls Options.Serve",
	"rpc.Appender.AppendJSON":                     "rpc.Options.Handler covers results",
	"dispatch.NewOperation":                       "as Add",
	"dispatch.Chain":                              "the Interceptors of dispatch, server and gateway",
	"dispatch.Invocation.Run":                     "runs on the caller's goroutine",
	"dispatch.Result.JSON":                        "a result of another type is refused",
	"dispatch.Result.IsError":                     "as JSON",
	"server.Conn.Handle":                          "server.Link",
	"server.ConnOptions.Link":                     "server.Link",
	"server.Server.Serve":                         "rpc.Options.Framing",
	"server.Options.Hooks":                        "rpc.Hooks",
	"client/host/gateway.Options.Results":         "its methods are here",
	"server.TaskOptions.Store":                    "server.TaskStore",
	"server/streamable.Options.Principal":         "Authorize is made of it",
	"server/auth.IntrospectionOptions.Client":     "called by Verify, on the goroutine of net/http",
	"server/auth.JWTOptions.Client":               "called by Verify, on the goroutine of net/http",
	"server/auth.Options.Verify":                  "called by streamable.Options.Authorize",
	"server/auth.Options.MessageScopes":           "called by streamable.Caller.AuthorizeMessages",
	"server/auth.Options.Logger":                  "contain.Logger",
	"client.Options.Hooks":                        "rpc.Hooks",
	"client.Transport.Open":                       "called by Connect, on the caller's goroutine",
	"client.Connect":                              "client.Transport",
	"client.Options.Connect":                      "client.Transport",
	"client.Stream":                               "client.Transport",
	"client.OnProgress":                           "client.TestPanickingProgress: on the caller's goroutine",
	"client.OnTask":                               "client.TestOnTask: on the caller's goroutine",
	"client.Link.OnAbandon":                       "called by rpc.Cancellation.Params",
	"client/streamable.Options.HTTP":              "not covered yet",
	"client/streamable.Options.Wrap":              "not covered yet",
	"client/auth.Options.Grant":                   "its functions are here",
	"client/auth.Options.Store":                   "its methods are here",
	"client.Options.OnElicitComplete":             "run as OnResourceUpdated is; not reached here",
	"client/auth.Store.Delete":                    "run as Find and Put are; not reached here",
	"client/auth.Store.Lock":                      "run as Find and Put are; not reached here",
	"client/auth.Options.HTTP":                    "called where the grant is",
	"client/auth.AuthorizationCode.OpenBrowser":   "called where JWTBearer.Assertion is",
	"client/auth.AuthorizationCode.FetchRedirect": "called where JWTBearer.Assertion is",
	"client/auth.IdentityAssertion.Token":         "called where JWTBearer.Assertion is",
	"client/auth.Registration.Key":                "called where JWTBearer.Assertion is",
	"server.Integration.CheckToolHeaders":         "called on the goroutine of the transport",
	"server.Integration.ListsChanged":             "called on the goroutine of who calls it",
	"client/auth.Authorizer.Wrap":                 "called on the goroutine of who makes the request",
}

// A panic or runtime.Goexit in a callback neither ends the process nor blocks a caller.
func TestNoCallbackEndsTheProcess(t *testing.T) {
	for _, name := range callbacks(t) {
		if _, ok := apart[name]; ok {
			continue
		}
		scenario := scenarios[name[:strings.LastIndex(strings.SplitN(name, ".", 2)[0]+".", ".")]]
		assert.Assert(t, scenario != nil, "%s is a callback in no scenario: add it there", name)
		for how, misbehave := range map[string]func(){"panic": func() { panic("ashes") },
			"Goexit": runtime.Goexit} {
			t.Run(name+" "+how, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				run := &scenarioRun{t: t, ctx: ctx, name: name, misbehave: misbehave}
				scenario(run)
				assert.Assert(t, run.calls.Load() > 0, "%s is not called: add it to the scenario",
					name)
				assert.NilError(t, ctx.Err(), "somebody waits for ever")
			})
		}
	}
}
