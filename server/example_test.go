package server_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

type Query struct {
	City string `json:"city" doc:"City to look up."`
}

type Report struct {
	Sky  string  `json:"sky" enum:"clear,cloudy,rain"`
	Temp float64 `json:"temp" doc:"Degrees Celsius."`
}

// A whole server with one typed tool.
func ExampleServer_ServeStdio() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{
		Name: "weather.get", Summary: "Current weather.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound},
	}, func(ctx context.Context, q Query) (Report, error) {
		if q.City != "Oslo" {
			return Report{}, dispatch.Errorf(dispatch.NotFound, "no station in %q", q.City)
		}
		return Report{Sky: "clear", Temp: -3}, nil
	})
	if err := server.New(server.Info{Name: "weather", Version: "1.0.0"},
		catalog).ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A server works on any stream.
func ExampleServer_Serve() {
	client, stream := net.Pipe()
	done := make(chan error)
	go func() {
		done <- server.New(server.Info{Name: "weather", Version: "1.0.0"},
			dispatch.NewCatalog()).Serve(context.Background(), stream)
	}()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	answer, _ := bufio.NewReader(client).ReadString('\n')
	fmt.Print(answer)
	client.Close()
	fmt.Println(<-done)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// <nil>
}
