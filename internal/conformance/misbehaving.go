package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Faults of [ServeMisbehaving].
const (
	WildHangs   = "hangs"   // does not answer every 50th call
	WildFloods  = "floods"  // sends notifications continuously
	WildJunk    = "junk"    // prints lines that are not messages
	WildChanges = "changes" // changes its list of tools continuously
)

// A misbehavingServer has the tools echo {"text"}, which is idempotent, and once {"text"}, which is
// not. Both return the id of the server, a colon and the text.
type misbehavingServer struct {
	id     string
	faults []string
	mu     sync.Mutex // guards the fields below
	out    io.Writer
	turn   int // number of changes of the tools
}

// ServeMisbehaving serves the legacy era with the given faults. It is written without the packages
// that it tests. It returns when in ends, or out cannot be written.
func ServeMisbehaving(in io.Reader, out io.Writer, id string, faults ...string) error {
	w := &misbehavingServer{id: id, faults: faults, out: out}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for calls := 0; lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct{ Text string }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = fmt.Sprintf(
				`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":%q,"version":"1"}}`,
				id)
		case "notifications/initialized":
			go w.misbehave()
			continue
		case "tools/list":
			result = w.tools()
		case "tools/call":
			if calls++; w.misbehaves(WildHangs) && calls%50 == 0 {
				continue
			}
			text, err := json.Marshal(id + ":" + m.Params.Arguments.Text)
			if err != nil {
				return err
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text)
		}
		switch {
		case len(m.ID) == 0:
		case result == "":
			w.writeLine(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`,
				m.ID))
		default:
			w.writeLine(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
		}
	}
	return lines.Err()
}

func (w *misbehavingServer) misbehaves(what string) bool { return slices.Contains(w.faults, what) }

func (w *misbehavingServer) writeLine(line string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.out, line+"\n")
	return err == nil
}

// tools returns the list of tools, with a new description, and every other time another tool, after
// each change.
func (w *misbehavingServer) tools() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	tool := func(name, annotations string) string {
		return fmt.Sprintf(
			`{"name":%q,"description":"Of turn %d.","inputSchema":{"type":"object"},"annotations":{%s}}`,
			name, w.turn, annotations)
	}
	more := ""
	if w.turn%2 == 1 {
		more = "," + tool(fmt.Sprint("passing_", w.turn%10), "")
	}
	return `{"tools":[` + tool("echo", `"readOnlyHint":true`) + `,` + tool("once", "") + more + `]}`
}

// misbehave sends faulty output until it cannot be written.
func (w *misbehavingServer) misbehave() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		<-tick.C
		ok := true
		if w.misbehaves(WildFloods) {
			for range 10 {
				ok = w.writeLine(
					`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a flood"}}`) &&
					w.writeLine(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody's","progress":1}}`) &&
					w.writeLine(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"no://where"}}`)
			}
		}
		if w.misbehaves(WildJunk) && n%5 == 0 {
			ok = w.writeLine("Listening … \x1b[1m{") &&
				w.writeLine(`{"jsonrpc":"2.0","id":999999999,"result":{}}`) &&
				w.writeLine(`{"jsonrpc":"2.0"`)
		}
		if w.misbehaves(WildChanges) && n%10 == 0 {
			w.mu.Lock()
			w.turn++
			w.mu.Unlock()
			ok = w.writeLine(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		if !ok || len(w.faults) == 0 {
			return
		}
	}
}
