package server_test

import (
	"context"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An app shows the result of a tool, if the client's host supports apps. Other clients get the
// text.
func ExampleServer_AddApp() {
	s := server.New(server.Info{Name: "dice", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "roll", Description: "Rolls a die."},
		func(context.Context, struct{}) (map[string]int, error) {
			return map[string]int{"eyes": 4}, nil
		})
	err := s.AddApp(server.App{URI: "ui://dice/roll.html", Name: "die",
		Tools: map[string][]string{"roll": nil},
		HTML: []byte(`<!doctype html>
<title>Die</title>
<output></output> <button>Again</button>
<script data-app></script>
<script>
  app.onresult = r => { document.querySelector("output").value = r.structuredContent.eyes; };
  document.querySelector("button").onclick = async () => app.onresult(await app.call("roll"));
  app.connect({ name: "die", version: "1.0.0" });
</script>`)})
	fmt.Println(err)
	// Output: <nil>
}
