package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/stdwire/stdwire/internal/form"
)

// A library is a legacy server like fake with resources, prompts, completions and questions. With a
// file, it writes there which resources were read.
type library struct {
	notes    io.Writer
	hello    libraryMessage  // initialize
	waiting  json.RawMessage // the id of the call that waits: for an answer, or for a log level
	logs     bool            // a level was set
	reads    int
	watching bool
}

type libraryMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Name            string            `json:"name"`
		URI             string            `json:"uri"`
		Arguments       map[string]any    `json:"arguments"`
		Capabilities    json.RawMessage   `json:"capabilities"`
		Level           string            `json:"level"`
		ProtocolVersion string            `json:"protocolVersion"`
		Argument        map[string]string `json:"argument"`
		Context         json.RawMessage   `json:"context"`
		Ref             json.RawMessage   `json:"ref"`
		Meta            struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

const (
	libraryTools = `[{"name":"ask","inputSchema":{"type":"object","properties":{}}},{"name":"page","inputSchema":{"type":"object","properties":{}}},{"name":"log","inputSchema":{"type":"object","properties":{}}},` +
		`{"name":"can","inputSchema":{"type":"object","properties":{}}},{"name":"picture","inputSchema":{"type":"object","properties":{}}},{"name":"first","inputSchema":{"type":"object","properties":{}}}]`
	libraryResources = `[{"uri":"file:///logo.png","name":"logo.png","mimeType":"image/png","size":4,"x-unknown": 1.0},{"uri":"file:///notes.md","name":"notes.md","title":"Notes","mimeType":"text/markdown"}]`
	libraryTemplates = `[{"uriTemplate":"file:///{name}","name":"files","description":"Any file.\n\nAt all."}]`
	libraryPrompts   = `[{"name":"greet","description":"Say hello.","arguments":[{"name":"style"},{"name":"name","required":true},{"name":"city","required":true}]},{"name":"empty"}]`

	libraryLogo    = `{"contents":[{"uri":"file:///logo.png","mimeType":"image/png","blob":"iVBORw=="}], "x-unknown": 1.0}`
	libraryNotes   = `{"contents":[{"uri":"file:///notes.md","mimeType":"text/markdown","text":"# \u001b[1mNotes"}]}`
	libraryFolder  = `{"contents":[{"uri":"file:///folder/a","text":"A\n"},{"uri":"file:///folder/b","blob":"AAE="}]}`
	libraryGreet   = `{"messages":[{"role":"user","content":{"type":"text","text":"Hello ARGS"}},{"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"iVBORw=="}}], "x-unknown": 1.0}`
	libraryPicture = `{"content":[{"type":"text","text":"Here:"},{"type":"image","mimeType":"image/png","data":"iVBORw=="},{"type":"resource_link","uri":"file:///logo.png","name":"logo"}]}`
)

// serve serves with this protocol version.
func (l *library) serve(version string) {
	send := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	decoder := json.NewDecoder(os.Stdin)
	for {
		var m libraryMessage
		if decoder.Decode(&m) != nil {
			return
		}
		result, failed := l.handle(m, send, version)
		switch {
		case m.ID == nil || m.Method == "":
		case failed != "":
			send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failed)
		case result != "":
			send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}
}

func (l *library) handle(m libraryMessage, send func(string, ...any), version string) (result,
	failed string) {
	switch m.Method {
	case "": // an answer
		send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, l.waiting, said(string(m.Result)))
	case "initialize":
		l.hello = m
		return `{"protocolVersion":"` + version +
				`","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"library","version":"1"}}`,
			""
	case "tools/list":
		return `{"tools":` + libraryTools + `}`, ""
	case "resources/list":
		return `{"resources":` + libraryResources + `}`, ""
	case "resources/templates/list":
		return `{"resourceTemplates":` + libraryTemplates + `}`, ""
	case "prompts/list":
		return `{"prompts":` + libraryPrompts + `}`, ""
	case "logging/setLevel":
		l.logs = true
		send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		l.log(m.Params.Level, send)
	case "tools/call":
		return l.call(m, send)
	case "resources/read":
		return l.read(m, send)
	case "resources/subscribe":
		l.watching = true
		return `{}`, ""
	case "resources/unsubscribe":
		return `{}`, ""
	case "prompts/get":
		if m.Params.Name == "empty" {
			return `{"messages":[]}`, ""
		}
		args, _ := json.Marshal(m.Params.Arguments)
		return strings.ReplaceAll(libraryGreet, "ARGS",
			strings.Trim(string(form.Quote(string(args))), `"`)), ""
	case "completion/complete":
		if m.Params.Argument["name"] == "style" {
			return `{"completion":{"values":[],"total":0}}`, ""
		}
		context := form.Quote(string(m.Params.Context) + string(m.Params.Ref))
		return `{"completion":{"values":["` + m.Params.Argument["value"] + `slo",` +
			string(context) + `],"total":5}, "x-unknown": 1.0}`, ""
	default:
		return "", `{"code":-32601,"message":"Method not found"}`
	}
	return "", ""
}

func said(text string) string {
	return `{"content":[{"type":"text","text":` + string(form.Quote(text)) + `}]}`
}

func (l *library) call(m libraryMessage, send func(string, ...any)) (result, failed string) {
	l.waiting = m.ID
	elicits := strings.Contains(string(l.hello.Params.Capabilities), `"elicitation"`)
	switch m.Params.Name {
	case "ask":
		if !elicits {
			return `{"content":[{"type":"text","text":"Client does not support form elicitation."}],"isError":true}`,
				""
		}
		send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","default":7}},"required":["name"]}}}`)
	case "page":
		send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"mode":"url","message":"Log in.","url":"ftp://example.com","elicitationId":"1"}}`)
	case "first":
		return "", `{"code":-32042,"message":"URL elicitation required","data":{"elicitations":[{"mode":"url","message":"Log in.","url":"https://example.com/a","elicitationId":"1"}]}}`
	case "can":
		return said(string(l.hello.Params.Capabilities)), ""
	case "picture":
		return libraryPicture, ""
	case "log":
		send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":2,"message":"half"}}`,
			m.Params.Meta.ProgressToken)
		l.log("", send)
	}
	return "", ""
}

// log sends log messages and answers the call, once the call and the level have arrived.
func (l *library) log(level string, send func(string, ...any)) {
	if l.waiting == nil || !l.logs {
		return
	}
	send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":"slow\nquery\u001b[2J"}}`)
	send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n": 1}}}`)
	send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, l.waiting, said("done"))
}

func (l *library) read(m libraryMessage, send func(string, ...any)) (result, failed string) {
	if l.notes != nil {
		fmt.Fprintln(l.notes, "read", m.Params.URI)
	}
	switch m.Params.URI {
	case "file:///logo.png":
		return libraryLogo, ""
	case "file:///notes.md":
		return libraryNotes, ""
	case "file:///folder":
		return libraryFolder, ""
	case "file:///none":
		return `{"contents":[]}`, ""
	case "file:///refused":
		return "", `{"code":-32000,"message":"not today"}`
	case "count:1":
		l.reads++
		if !l.watching || l.reads == 4 {
			fmt.Fprintln(os.Stderr, "worn out")
			syscall.Exit(7)
		}
		if l.reads == 2 {
			result, failed = "", `{"code":-32002,"message":"Resource not found"}`
		} else {
			result = fmt.Sprintf(`{"contents":[{"uri":"count:1","text":"%d"}]}`, l.reads)
		}
		reply := `"result":` + result
		if failed != "" {
			reply = `"error":` + failed
		}
		send(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, reply)
		send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"count:1"}}`)
		return "", ""
	}
	return "", `{"code":-32002,"message":"Resource not found","data":{"uri":"x"}}`
}

// A faulty modern server, which asks whatever capabilities its client has.
func serveAsking(args []string) {
	decoder := json.NewDecoder(os.Stdin)
	for {
		var m libraryMessage
		if decoder.Decode(&m) != nil {
			return
		}
		result := `"error":{"code":-32601,"message":"Method not found"}`
		switch {
		case m.Method == "server/discover":
			result = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{}},"ttlMs":0,"cacheScope":"private"}`
		case m.Method == "tools/list":
			result = `"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
		case slices.Contains(args, "capability"):
			result = `"error":{"code":-32021,"message":"Missing capability","data":{"requiredCapabilities":{"elicitation":{}}}}`
		case m.Method == "tools/call" || m.Method == "resources/read":
			result = `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"` +
				args[0] + `","params":{}}}}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, result)
	}
}
