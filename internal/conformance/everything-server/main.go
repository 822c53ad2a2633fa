// Everything-server is a server for the official MCP conformance suite. It serves everything that
// the scenarios call, on one endpoint, in both eras.
//
//	go run ./internal/conformance/everything-server -http 127.0.0.1:3000    # serves /mcp
//	go run ./internal/conformance/everything-server                         # serves stdio
//
// With STATE_KEY in the environment it is one of several replicas, and with STORE one of several
// that share the store at that URL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

func main() {
	address := flag.String("http", "", "serve Streamable HTTP at this address; stdio if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	key := []byte(os.Getenv("STATE_KEY"))
	if len(key) == 0 {
		key = nil
	}
	// the tests treat every log line as an error, except the messages that tools send to the client
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := server.Options{Instructions: "For tests.", Logger: log,
		StateKey: key}.New(server.Info{Name: "everything-server", Version: "1.0.0"},
		dispatch.NewCatalog())
	err := errors.Join(addTools(s, simples), addTools(s, asking), addTools(s, reconnection),
		addChanging(s), addTasks(s), addResources(s), addPrompts(s), addSkills(s))
	if err != nil {
		return err
	}
	if address == "" {
		return s.ServeStdio(ctx)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "http://%s/mcp\n", listener.Addr())
	o := streamable.Options{Replicas: key != nil}
	if url := os.Getenv("STORE"); url != "" {
		o.Store, err = streamable.StoreOptions{Secret: key}.Open(url)
		if err != nil {
			return err
		}
		defer o.Store.Close()
	}
	handler := o.New(s)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return errors.Join(handler.Shutdown(grace), web.Shutdown(grace), s.Close(grace))
}
