package streamable_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	served "github.com/stdwire/stdwire/server/streamable"
)

type Query struct {
	City string `json:"city" doc:"City to look up."`
}

// A server over HTTP, and a client that calls its tool.
func Example() {
	ctx := context.Background()
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "weather.get", Summary: "Current weather.", Type: dispatch.Read},
		func(_ context.Context, q Query) (string, error) { return "clear over " + q.City, nil })
	h := served.Options{}.New(server.New(server.Info{Name: "weather", Version: "1.0.0"}, catalog))
	defer h.Close()
	site := httptest.NewServer(h)
	defer site.Close()

	c, err := client.Connect(ctx, streamable.Dial(site.URL))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "weather_get", Query{City: "Oslo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Revision(), result.Content[0].(*mcp.TextContent).Text)
	// Output: 2026-07-28 {"success":true,"data":"clear over Oslo","error":null}
}
