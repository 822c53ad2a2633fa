// Command stdwire is an echo server with stdwire.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

type text struct {
	Text string `json:"text" doc:"Text to return."`
}

func main() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "echo", Summary: "Returns its text.", Type: dispatch.Read},
		func(_ context.Context, in text) (text, error) { return in, nil })
	dispatch.Add(catalog,
		dispatch.Spec{Name: "raw", Summary: "Returns its arguments.", Type: dispatch.Read},
		func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	if err := server.New(server.Info{Name: "echo", Version: "1"},
		catalog).ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
