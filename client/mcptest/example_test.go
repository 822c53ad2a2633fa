package mcptest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// newCafe returns the server to test.
func newCafe(o server.Options) *server.Server {
	type Order struct {
		Size string `json:"size" enum:"small,large"`
	}
	s := o.New(server.Info{Name: "cafe", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "order"},
		func(ctx context.Context, _ struct{}) (string, error) {
			order, action, err := server.Ask[Order](ctx, "order", "Which size?")
			if err != nil || action != mcp.ElicitAccept {
				return "nothing was ordered", err
			}
			return "one " + order.Size + " coffee", nil
		})
	return s
}

// testOrder is a test in which the user orders a large coffee. It fails if the server logs an
// error, asks less or more often, or does not end.
func testOrder(t *testing.T) {
	c := mcptest.Connect(t, newCafe(server.Options{Logger: mcptest.Logger(t)}), client.Options{
		OnElicit: mcptest.Answers[mcp.ElicitParams](t, &mcp.ElicitResult{
			Action: mcp.ElicitAccept, Content: json.RawMessage(`{"size":"large"}`)}),
	})
	got, err := client.CallAs[string](t.Context(), c, "order", nil)
	if err != nil || got != "one large coffee" {
		t.Errorf("got %q, %v", got, err)
	}
}

// In a file of tests, the function would be named TestOrder.
func Example() {
	var t *testing.T // the argument of the test
	if t != nil {
		testOrder(t)
	}
}
