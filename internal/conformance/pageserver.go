package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// pageTools are the tools of [ServePage], as it lists them.
const pageTools = `[
{"name":"echo","title":"Echo","description":"DESCRIPTION","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What to return."}},"required":["text"]},"annotations":{"readOnlyHint":true,"idempotentHint":true},"icons":[{"src":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},{"src":"http://127.0.0.1:9/icon.png"}]},
{"name":"<img src=x onerror=\"document.body.dataset.hacked='yes'\">","title":"<img src=x onerror=\"document.body.dataset.hacked='yes'\">","description":"<script>document.body.dataset.hacked='yes'</script><b>bold</b>","inputSchema":{"type":"object","properties":{"<i>x</i>":{"type":"string","description":"<img src=x onerror=\"document.body.dataset.hacked='yes'\">"}}}},
{"name":"arguments","description":"Returns its arguments.","inputSchema":{"type":"object","required":["name","address"],"$defs":{"address":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"zip":{"type":"string","pattern":"^[0-9]+$"}}}},"properties":{"name":{"type":"string","minLength":1},"address":{"$ref":"#/$defs/address"},"tags":{"type":"array","items":{"type":"string"}},"color":{"type":"string","enum":["red","green"],"default":"green"},"size":{"oneOf":[{"const":1,"title":"Small"},{"const":2,"title":"Large"}]},"contact":{"oneOf":[{"title":"Mail","type":"object","properties":{"mail":{"type":"string"}},"required":["mail"]},{"title":"Phone","type":"object","properties":{"phone":{"type":"integer"}},"required":["phone"]}]},"count":{"type":"integer","default":3},"data":{"type":"string","contentEncoding":"base64"},"more":{"type":"object","additionalProperties":{"type":"number"}},"nothing":{"type":["string","null"]},"any":true}}},
{"name":"large","description":"Returns 8 MB.","inputSchema":{"type":"object"}},
{"name":"misfit","description":"Returns what it should not.","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
{"name":"rows","description":"Returns rows.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
{"name":"slow","description":"Reports progress, and waits for release.","inputSchema":{"type":"object"}},
{"name":"release","description":"Ends all calls of slow.","inputSchema":{"type":"object"}},
{"name":"documents","description":"Returns HTML and a PDF.","inputSchema":{"type":"object"}},
{"name":"error","description":"Fails with the error that it is given.","inputSchema":{"type":"object","properties":{"error":{"type":"object","additionalProperties":true}}}},
{"name":"not.portable","description":"Has a schema that some refuse.","inputSchema":{"type":"object","oneOf":[{"required":["list"]},{"required":["where"]}],"properties":{"list":{"type":"array"},"where":{"type":["object","null"],"x-mcp-header":"Where"},"kind":{"const":"<b>x</b>"}}}},
{"name":"visit","description":"Asks to visit a page.","inputSchema":{"type":"object"}}
]`

// pageHTML is a page that tries to run scripts, to fetch and to leave.
const pageHTML = `<!doctype html><meta http-equiv="refresh" content="1;url=http://127.0.0.1:9/left"><style>h1 { color: rgb(1, 2, 3) }</style>
<h1>Heading</h1><p id="p">before</p><script>document.getElementById('p').textContent = 'script'; parent.postMessage('x', '*');</script>
<img src="http://127.0.0.1:9/image.png" onerror="document.getElementById('p').textContent = 'handler'"><a href="http://127.0.0.1:9/link" id="a">leave</a>
<iframe src="http://127.0.0.1:9/frame"></iframe><form action="http://127.0.0.1:9/form"><button>send</button></form>`

// PageOdd is the description with which [ServePage] lists three more tools: one whose description
// is Markdown, and two whose definitions violate the specification.
const PageOdd = "odd"

// PagePaged is the description with which [ServePage] lists its tools in pages of four.
const PagePaged = "paged"

// PageMany is the description with which [ServePage] lists 6,000 tools in place of its own.
const PageMany = "many"

const pageOddTools = `{"name":"markdown","description":"# Title\n\nTakes **bold** and ` + "`code`" + `:\n\n- one\n- two [site](https://example.com/a) [bad](javascript:alert(1))\n\n` + "```" + `\nx = **1**\n` + "```" + `\n<img src=x onerror=alert(1)> ![i](http://127.0.0.1:9/i.png)","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},
{"name":"numbered","title":7,"description":{"toString":7,"valueOf":7},"inputSchema":{"type":"object"}},
{"name":"odd","description":"Has a definition that is none.","icons":{"x":1},"annotations":{"title":7},"inputSchema":{"type":"object","required":"x","properties":{"a":{"enum":"x"},"b":{"type":7},"c":null,"d":{"$ref":"#/nowhere"},"e":{"allOf":[{"$ref":"#/properties/e"}]}}}}`

// A pageServer is the server of one client of [ServePage].
type pageServer struct {
	mu      sync.Mutex
	out     io.Writer
	waiting []json.RawMessage // ids of the calls of slow
	visit   json.RawMessage   // id of the latest call of visit
}

// ServePage serves tools that a page could show wrongly, in the legacy era, with a description of
// the first one. It is written without the packages that it tests. It returns when in ends.
func ServePage(in io.Reader, out io.Writer, description string) error {
	s := &pageServer{out: out}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Action string }
			Error  struct{ Message string }
			Params struct {
				Name      string
				Cursor    string
				Arguments json.RawMessage
				Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		switch m.Method {
		case "initialize":
			s.answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"page","version":"1"}}`)
		case "tools/list":
			tools := strings.Replace(pageTools, "DESCRIPTION", description, 1)
			if description == PageOdd {
				tools = strings.TrimSuffix(tools, "]") + "," + pageOddTools + "]"
			}
			if description == PagePaged {
				s.answer(m.ID, toolPage(tools, m.Params.Cursor))
				continue
			}
			if description == PageMany {
				s.answer(m.ID, `{"tools":[`+repeated(6000, `{"name":"tool_%d","description":"Does what the tools before do not.","inputSchema":{"type":"object"}}`)+"]}")
				continue
			}
			if description == PageHostile {
				s.answer(m.ID, hostileTools())
				continue
			}
			s.answer(m.ID, `{"tools":`+strings.ReplaceAll(tools, "\n", "")+"}")
		case "tools/call":
			s.call(m.ID, m.Params.Name, m.Params.Arguments, m.Params.Meta.ProgressToken)
		case "": // the answer to the question of visit
			text, _ := json.Marshal("action: " + m.Result.Action + m.Error.Message)
			s.answer(s.visit, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
		case "ping":
			s.answer(m.ID, `{}`)
		default:
			if m.ID != nil {
				s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID))
			}
		}
	}
	return lines.Err()
}

// toolPage returns the page after a cursor of tools that are on a line each.
func toolPage(tools, cursor string) string {
	const size = 4
	lines := strings.Split(strings.Trim(tools, "[]\n"), "\n")
	from, _ := strconv.Atoi(cursor) // this server has made the cursor
	to := min(from+size, len(lines))
	page := `{"tools":[` + strings.TrimSuffix(strings.Join(lines[from:to], ""), ",") + "]"
	if to < len(lines) {
		page += fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	return page + "}"
}

// call answers a call of a tool.
func (s *pageServer) call(id json.RawMessage, tool string, arguments, token json.RawMessage) {
	switch tool {
	case "echo", "arguments":
		text, _ := json.Marshal(string(arguments)) // a string always encodes
		s.answer(id, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
	case "markdown":
		var in struct{ Text json.RawMessage }
		if json.Unmarshal(arguments, &in) != nil || in.Text == nil {
			in.Text = json.RawMessage(`""`)
		}
		s.answer(id, `{"content":[{"type":"text","text":`+string(in.Text)+`}]}`)
	case "documents":
		html, _ := json.Marshal(pageHTML)
		s.answer(id, `{"content":[{"type":"resource","resource":{"uri":"test://page.html","mimeType":"text/html","text":`+string(html)+`}},{"type":"resource","resource":{"uri":"test://paper","mimeType":"application/pdf","blob":"JVBERi0xLjQK"}}]}`)
	case "error":
		var in struct{ Error json.RawMessage }
		if json.Unmarshal(arguments, &in) != nil || in.Error == nil {
			in.Error = json.RawMessage(`{"code":-32602,"message":"no error is given"}`)
		}
		s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + string(in.Error) + `}`)
	case "large":
		s.answer(id, `{"content":[{"type":"text","text":"`+strings.Repeat("0123456789abcdef", 1<<19)+`"}]}`)
	case "misfit":
		s.answer(id, `{"content":[],"structuredContent":{"n":"one"}}`)
	case "rows":
		s.answer(id, `{"content":[],"structuredContent":{"rows":[{"id":9007199254740993,"name":"first"},{"id":2,"name":"<b>second</b>"}]}}`)
	case "slow":
		s.mu.Lock()
		s.waiting = append(s.waiting, id)
		s.mu.Unlock()
		s.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"total":4,"message":"begun","progressToken":` + string(token) + `}}`)
	case "visit":
		s.visit = id
		s.write(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"mode":"url","message":"Log in, please.","url":"https://example.com/login?next=<b>","elicitationId":"e"}}`)
	case "ask", "ask-flat":
		s.visit = id
		s.write(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Fill this in.","requestedSchema":` +
			hostileQuestion(tool == "ask-flat") + `}}`)
	case "results":
		s.answer(id, hostileResult())
	case "release":
		s.mu.Lock()
		waiting := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		for _, id := range waiting {
			s.answer(id, `{"content":[{"type":"text","text":"released"}]}`)
		}
		s.answer(id, `{"content":[]}`)
	default:
		s.answer(id, `{"content":[{"type":"text","text":"called"}]}`)
	}
}

func (s *pageServer) answer(id json.RawMessage, result string) {
	s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

// write writes a message. If it fails, the client has disconnected, and in ends too.
func (s *pageServer) write(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, line+"\n")
}
