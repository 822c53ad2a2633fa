package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// serveRoots is a legacy server that requests roots after the handshake and after each change.
// Its tools return its process id, which it also logs, and the roots. It writes a note when it
// ends.
func serveRoots(args []string) {
	notes := takeNotes(args[0])
	pid := os.Getpid()
	defer func() { fmt.Fprintln(notes, "ended", pid) }()
	var roots json.RawMessage // nil: not known
	asked := 0
	var calls []json.RawMessage // that wait for them
	var say func(string)
	tell := func(id json.RawMessage, text string) {
		quoted, _ := json.Marshal(text)
		say(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id,
			quoted))
	}
	for r := bufio.NewReader(os.Stdin); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		say = func(text string) { fmt.Println(text) }
		var m struct {
			message
			Result struct{ Roots json.RawMessage }
		}
		_ = json.Unmarshal(line, &m)
		switch {
		case m.Method == "initialize":
			say(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"curious","version":"1"}}}`,
				m.ID))
		case m.Method == "notifications/initialized",
			m.Method == "notifications/roots/list_changed":
			asked++
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, asked))
		case m.Method == "" && string(m.ID) == fmt.Sprint(asked):
			roots = m.Result.Roots
			for _, id := range calls {
				tell(id, string(roots))
			}
			calls = nil
		case m.Method == "tools/list":
			say(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"me","inputSchema":{"type":"object"}},{"name":"roots","inputSchema":{"type":"object"}}]}}`,
				m.ID))
		case m.Params.Name == "me":
			say(fmt.Sprintf(
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":%d}}`,
				pid))
			tell(m.ID, fmt.Sprint(pid))
		case m.Params.Name == "roots" && roots == nil:
			calls = append(calls, m.ID)
		case m.Params.Name == "roots":
			tell(m.ID, string(roots))
		case m.Method != "" && m.ID != nil:
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID))
		}
	}
}
