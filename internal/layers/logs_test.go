package layers

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// unlimitedLoggers are the places, by file and expression, where a package that peers can reach
// makes or takes a logger without the limit of lograte.Logger, and why.
var unlimitedLoggers = map[string]string{
	"server/serve.go contain.Logger(o.Logger)": "passed to the dispatcher, which limits its own " +
		"lines; New limits those of the server",
	"server/logging.go slog.Default()": "for lines of the application",
	"server/logging.go slog.New(slog.NewMultiHandler(log.Handler(), toClient))": "for lines of the " +
		"application",
	"dispatch/call.go slog.Default()": "for lines of the application",
	"dispatch/dispatcher.go contain.Logger(o.Logger)": "for lines of the application, and for " +
		"surfaces, which limit their own",
	"dispatch/catalog.go contain.Logger(nil)":               "one line for a panic after a change of the catalog",
	"client/mcptest/logger.go slog.New(&testHandler{t: t})": "for the log of a test",
}

// logMethods are the methods of a slog.Logger that log a line, those of the same names that wrap
// them, and the methods of the packages that wrap them under other names.
var logMethods = []string{"warn", "logCall", "report", "Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext",
	"Error", "ErrorContext", "Log", "LogAttrs"}

// TestLogLines lists each line of a log that a peer can cause: every use of a logger in a package
// of the library that handles what peers send. A logger starts with lograte.Logger, or is in
// unlimitedLoggers. A line that was added, and its package's logger, are to be reviewed; then run
// the test with -update.
func TestLogLines(t *testing.T) {
	var lines []string
	unlimited, limited, logging := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, top := range []string{"framing", "rpc", "dispatch", "server", "client"} {
		walk := func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../")))
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || name == "client/host/config"):
				// config reports to its caller and does not log
				return fs.SkipDir
			case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
				return nil
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			text := func(n ast.Node) string {
				var b strings.Builder
				assert.NilError(t, printer.Fprint(&b, files, n))
				return b.String()
			}
			pkg := filepath.ToSlash(filepath.Dir(name))
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch f := text(call.Fun); f {
				case "lograte.Logger":
					limited[pkg] = true
				case "contain.Logger", "slog.Default", "slog.New":
					unlimited[name+" "+text(call)] = true
				case "http.Error", // not a log
					"server.Log", // for the client of a gateway
					"m.Log",      // returns the log of a server
					"p.report", "r.progress.report", "m.report", "t.report":
				default:
					method, ok := call.Fun.(*ast.SelectorExpr)
					if !ok || !slices.Contains(logMethods, method.Sel.Name) ||
						len(call.Args) == 0 {
						break
					}
					logging[pkg] = true
					line := name + ": " + f + " " + message(call, text)
					lines = append(lines, strings.Join(strings.Fields(line), " "))
				}
				return true
			})
			return nil
		}
		assert.NilError(t, filepath.WalkDir(filepath.Join("../..", top), walk))
	}
	for place := range unlimited {
		assert.Check(t, unlimitedLoggers[place] != "", "%s has no limit: call lograte.Logger, "+
			"or add a row to unlimitedLoggers that says why none is needed", place)
	}
	for place := range unlimitedLoggers {
		assert.Check(t, unlimited[place], "%s is gone: remove its row of unlimitedLoggers", place)
	}
	for pkg := range logging {
		assert.Check(t, limited[pkg] || loggerOf[pkg] != "", "%s logs, but does not call "+
			"lograte.Logger: call it, or add a row to loggerOf", pkg)
	}
	slices.Sort(lines)
	golden.Assert(t, strings.Join(lines, "\n")+"\n", "loglines.txt")
}

// loggerOf says whose logger a package uses that does not call lograte.Logger.
var loggerOf = map[string]string{
	"client/host/gateway/internal/audit":       "that of package gateway",
	"client/host/gateway/internal/legacypeers": "that of package gateway",
	"client/host/gateway/internal/listfetch":   "that of package gateway",
	"client/host/gateway/internal/spill":       "that of package gateway",
	"client/host/gateway/internal/statelog":    "that of package gateway",
	"client/streamable":                        "that of package client, by its link",
	"server/internal/task":                     "that of package server",
	"server/streamable/internal/shared":        "that of package streamable",
}

// message returns the first argument that is or adds to a string literal, or all arguments.
func message(call *ast.CallExpr, text func(ast.Node) string) string {
	var all []string
	for _, argument := range call.Args {
		operand := argument
		for sum, ok := operand.(*ast.BinaryExpr); ok; sum, ok = operand.(*ast.BinaryExpr) {
			operand = sum.X
		}
		if literal, ok := operand.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			return text(argument)
		}
		all = append(all, text(argument))
	}
	return strings.Join(all, ", ")
}
