package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

const maxOpen = 100_000

// An httpProgram is a typed and validated echo over Streamable HTTP in its library's fastest
// configuration: without sessions, with JSON responses.
type httpProgram struct {
	name string
	make func() (h http.Handler, change func()) // change adds a tool; nil if not measured
}

var httpPrograms = []httpProgram{
	{"stdwire", func() (http.Handler, func()) {
		catalog := dispatch.NewCatalog()
		echo := func(_ context.Context, in echoText) (echoText, error) { return in, nil }
		dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read},
			echo)
		added := 0
		return streamable.Options{MaxRequests: maxOpen, MaxStreams: maxOpen}.New(
				server.New(server.Info{Name: "echo", Version: "1"}, catalog)), func() {
				added++
				dispatch.Add(catalog,
					dispatch.Spec{Name: fmt.Sprintf("echo.more%d", added), Summary: "Echo.",
						Type: dispatch.Read}, echo)
			}
	}},
	{"go-sdk", func() (http.Handler, func()) {
		s := gosdk.NewServer(&gosdk.Implementation{Name: "echo", Version: "1"}, nil)
		gosdk.AddTool(s, &gosdk.Tool{Name: "echo", Description: "Echo."},
			func(_ context.Context, _ *gosdk.CallToolRequest, in echoText) (*gosdk.CallToolResult,
				echoText, error) {
				return nil, in, nil
			})
		return gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s },
			&gosdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), nil
	}},
	{"mcp-go", func() (http.Handler, func()) {
		s := mcpgoserver.NewMCPServer("echo", "1", mcpgoserver.WithToolCapabilities(true),
			mcpgoserver.WithInputSchemaValidation(), mcpgoserver.WithOutputSchemaValidation())
		s.AddTool(mcpgo.NewTool("echo", mcpgo.WithDescription("Echo."),
			mcpgo.WithInputSchema[echoText](), mcpgo.WithOutputSchema[echoText]()),
			mcpgo.NewStructuredToolHandler(
				func(_ context.Context, _ mcpgo.CallToolRequest, in echoText) (echoText, error) {
					return in, nil
				}))
		return mcpgoserver.NewStreamableHTTPServer(s, mcpgoserver.WithStateLess(true)), nil
	}},
	{"net/http", func() (http.Handler, func()) { // the lower bound: it echoes the body
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		}), nil
	}},
}

// serveHTTP is the main function of a server process. It prints its address, obeys commands, one a
// line, and ends with its input.
func serveHTTP(name, profiles string) error {
	for _, p := range httpPrograms {
		if p.name != name {
			continue
		}
		handler, change := p.make()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- http.Serve(listener, handler) }()
		stop, err := profile(profiles, name)
		if err != nil {
			return err
		}
		fmt.Println(listener.Addr())
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			switch lines.Text() {
			case "goroutines":
				fmt.Println(runtime.NumGoroutine())
			case "change":
				change()
				fmt.Println("changed")
			}
		}
		listener.Close()
		return errors.Join(stop(), exceptError(<-ended, net.ErrClosed))
	}
	return fmt.Errorf("there is no server %q", name)
}

func exceptError(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// profile writes processor and allocation profiles to dir until stop is called. It does nothing if
// dir is "".
func profile(dir, name string) (stop func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	path := filepath.Join(dir, filepath.Base(name))
	cpu, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		allocs, err := os.Create(path + ".allocs")
		if err != nil {
			return err
		}
		return errors.Join(cpu.Close(), pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close())
	}, nil
}
