package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// A richServer is a legacy server with resources, prompts, completions, log messages, and tools
// that change. With a file, it writes there what it does and reads its cues.
type richServer struct {
	notes io.Writer
	cues  *bufio.Reader
	asked json.RawMessage // the id of the call that is never answered
	grown bool
}

func newRich(args []string) *richServer {
	r := &richServer{notes: io.Discard}
	if len(args) > 0 {
		r.notes = takeNotes(args[0])
	}
	if len(args) > 1 {
		cues, err := os.OpenFile(args[1], os.O_RDWR, 0) // open for writing, so it has no end
		if err != nil {
			panic(err)
		}
		r.cues = bufio.NewReader(cues)
	}
	return r
}

const richTools = `{"name":"paint","description":"Paints.\n\nWith a brush.","inputSchema":{"type":"object","properties":{` +
	`"color":{"enum":["red","green","light blue"],"description":"Which one."},"bold":{"type":"boolean"},"at":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}},` +
	`"tags":{"type":"array","items":{"enum":["a","b"]}}}}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}},` +
	`{"name":"grow","inputSchema":{"type":"object"}},{"name":"later","inputSchema":{"type":"object"}}`

// richQuestion is what the server asks some time after the call of later, if the cue is ask.
const richQuestion = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Delete all?","requestedSchema":{"type":"object","properties":{}}}}`

func (r *richServer) serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name, URI string
				Arguments json.RawMessage
				RequestID json.RawMessage
				Ref       struct{ Name, URI string }
				Argument  struct{ Name, Value string }
				Context   json.RawMessage
			}
			Result struct{ Action string }
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		reply := func(result string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		text := func(text []byte) {
			quoted, _ := json.Marshal(string(text))
			reply(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
		}
		p := m.Params
		switch m.Method + " " + p.Name {
		case "initialize ":
			reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"rich","version":"1.0"}}`)
		case "tools/list ":
			more := ""
			if r.grown {
				more = `,{"name":"grown","inputSchema":{"type":"object"}}`
			}
			reply(`{"tools":[` + richTools + more + `]}`)
		case "tools/call paint", "tools/call grown":
			text(p.Arguments)
		case "tools/call hang":
			r.asked = m.ID
			fmt.Fprintln(r.notes, "working")
		case "notifications/cancelled ":
			if string(p.RequestID) == string(r.asked) {
				fmt.Fprintln(r.notes, "cancelled")
			}
		case "tools/call die":
			fmt.Fprintln(os.Stderr, "out of memory")
			syscall.Exit(7)
		case "tools/call grow":
			r.grown = true
			text([]byte("done"))
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		case "tools/call later":
			text([]byte("soon"))
			if cue, _ := r.cues.ReadString('\n'); cue == "ask\n" {
				fmt.Println(richQuestion)
				continue
			}
			fmt.Fprintln(os.Stderr, "a line on stderr")
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"rich","data":"a log message"}}`)
		case " ": // the answer to richQuestion
			fmt.Fprintln(r.notes, m.Result.Action)
		case "logging/setLevel ":
			reply(`{}`)
		case "resources/list ":
			reply(`{"resources":[{"uri":"file:///a b","name":"ab","mimeType":"text/plain","size":1500,"description":"Both."},{"uri":"file:///c","name":"c"}]}`)
		case "resources/templates/list ":
			reply(`{"resourceTemplates":[{"uriTemplate":"log://{day}","name":"log"}]}`)
		case "resources/read ":
			if p.URI != "file:///a b" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no such resource"}}`+
					"\n", m.ID)
				continue
			}
			reply(`{"contents":[{"uri":"file:///a b","text":"what it says"},{"uri":"file:///a b/blob","mimeType":"x/y","blob":"AAAA"}]}`)
		case "prompts/list ":
			reply(`{"prompts":[{"name":"greet","title":"A greeting","arguments":[{"name":"name","required":true},{"name":"city"}]}]}`)
		case "prompts/get greet":
			text, _ := json.Marshal(string(p.Arguments))
			reply(`{"description":"Greets.","messages":[{"role":"user","content":{"type":"text","text":` +
				string(text) + `}}]}`)
		case "completion/complete ":
			if p.Argument.Value == "never" {
				continue
			}
			values := []string{"New York", "Newark", "Oslo"}
			switch {
			case p.Ref.URI != "":
				values = []string{"monday"}
			case p.Argument.Name == "name":
				values = []string{"Ada"}
			case !strings.Contains(string(p.Context), `"Ada"`):
				values = nil
			}
			var fitting []string
			for _, value := range values {
				if strings.HasPrefix(value, p.Argument.Value) {
					fitting = append(fitting, value)
				}
			}
			list, _ := json.Marshal(append([]string{}, fitting...))
			reply(`{"completion":{"values":` + string(list) + `}}`)
		default:
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+
					"\n", m.ID)
			}
		}
	}
}
