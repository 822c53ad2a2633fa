package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// talkTo writes lines to a server, and prints the responses.
func talkTo(s *server.Server, lines ...string) {
	client, stream := net.Pipe()
	done := make(chan error)
	go func() { done <- s.Serve(context.Background(), stream) }()
	in := bufio.NewReader(client)
	for _, line := range lines {
		fmt.Fprintln(client, line)
		if strings.Contains(line, `"id"`) { // only requests have responses
			answer, _ := in.ReadString('\n')
			fmt.Print(answer)
		}
	}
	client.Close()
	<-done
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

// A template stands for many resources. The URI determines the values of its variables.
func ExampleServer_AddResourceTemplate() {
	s := server.New(server.Info{Name: "library", Version: "1.0.0"}, nil)
	books := map[string]string{"hamlet": "Who's there?"}
	template := mcp.ResourceTemplate{URITemplate: "book://{title}", Name: "book",
		MIMEType: "text/plain"}
	read := func(_ context.Context, uri string,
		values map[string]string) (*mcp.ReadResourceResult, error) {
		line, ok := books[values["title"]]
		if !ok {
			return nil, server.ResourceNotFound(uri)
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
			{URI: uri, MIMEType: "text/plain", Text: line}}}, nil
	}
	server.Must(s.AddResourceTemplate(
		server.ResourceTemplate{ResourceTemplate: template, Read: read}))
	talkTo(s, hello,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"book://hamlet"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"book://macbeth"}}`)
	// Output:
	// {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"library","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"book://hamlet","mimeType":"text/plain","text":"Who's there?"}]}}
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found: book://macbeth","data":{"uri":"book://macbeth"}}}
}

// A prompt may suggest values for its arguments.
func ExampleServer_AddPrompt() {
	s := server.New(server.Info{Name: "review", Version: "1.0.0"}, nil)
	prompt := mcp.Prompt{Name: "review",
		Arguments: []mcp.PromptArgument{{Name: "language", Required: true}}}
	get := func(_ context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser,
			Content: mcp.Text("Review this " + arguments["language"] + " code.")}}}, nil
	}
	complete := func(_ context.Context, _, typed string,
		_ map[string]string) (c mcp.Completion, err error) {
		for _, language := range []string{"Go", "Python", "PHP"} {
			if strings.HasPrefix(language, typed) {
				c.Values = append(c.Values, language)
			}
		}
		return c, nil
	}
	server.Must(s.AddPrompt(server.Prompt{Prompt: prompt, Get: get, Complete: complete}))
	talkTo(s, strings.Replace(hello, `"id":"hello",`, `"id":0,`, 1),
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"language","value":"P"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"review","arguments":{"language":"Go"}}}`)
	// Output:
	// {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"review","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["Python","PHP"]}}}
	// {"jsonrpc":"2.0","id":2,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Review this Go code."}}]}}
}

// The same handler asks clients of both eras. This legacy client gets a request while the handler
// waits. A modern client would get the question as the result of its request, and would repeat the
// request with the answer.
func ExampleElicit() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "table.book", Summary: "Book a table.", Type: dispatch.Write},
		func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := server.Elicit(ctx, "guests", mcp.ElicitParams{
				Message: "For how many?",
				RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"guests":{"type":"integer","minimum":1,"default":2}}}`),
			})
			if err != nil {
				return "", err // in the modern era, this error sends the question to the client
			}
			if answer.Action != mcp.ElicitAccept {
				return "no table, then", nil
			}
			var form struct{ Guests int }
			if err := json.Unmarshal(answer.Content, &form); err != nil {
				return "", err
			}
			// The handler may run again after the next question. Once ensures that this part runs
			// only once.
			number, err := server.Once(ctx, "reservation",
				func(context.Context) (int, error) { return 17, nil })
			return fmt.Sprintf("table %d for %d", number, form.Guests), err
		})
	talkTo(server.New(server.Info{Name: "restaurant", Version: "1.0.0"}, catalog),
		strings.Replace(hello, `"id":"hello",`, `"id":0,`, 1),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"table_book"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}`)
	// Output:
	// {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"restaurant","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"For how many?","requestedSchema":{"type":"object","properties":{"guests":{"type":"integer","minimum":1,"default":2}}}}}
	// {"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"success":true,"data":"table 17 for 2","error":null},"content":[{"type":"text","text":"{\"success\":true,\"data\":\"table 17 for 2\",\"error\":null}"}],"isError":false}}
}

// Middleware decides which requests are answered, and knows the principal of each.
func ExampleOptions_middleware() {
	s := server.Options{Middleware: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			if req.Method == mcp.MethodCallTool && dispatch.PrincipalFrom(ctx) == "" {
				return nil, rpc.Errorf(-32001, "say who you are")
			}
			return next(ctx, req)
		}
	}}}.New(server.Info{Name: "guarded", Version: "1.0.0"}, dispatch.NewCatalog())
	talkTo(s,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"any"}}`)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"say who you are"}}
}
