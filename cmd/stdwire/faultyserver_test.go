package main

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The tools of faulty, each with another fault.
const invalidTools = `[{"name":"ok","description":"Does it.","inputSchema":{"type":"object"}},{"name":"ok","description":"Does it.","inputSchema":{"type":"object"}},` +
	`{"name":17},{"name":"bare","description":"Has no schema."},{"name":"bad name","description":"Has one.","inputSchema":{"type":"object"}},` +
	`{"name":"wrong","description":"Has a wrong one.","inputSchema":{"type":"object","required":"x"},"outputSchema":{"type":"objekt"}},` +
	`{"name":"header","description":"Has a header.","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}]`

// serveFaulty is a legacy server with the fault that its arguments name.
func serveFaulty(args []string) {
	does := func(what string) bool { return slices.Contains(args, what) }
	if does("ignore-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	if does("say-hello") {
		fmt.Println("Starting server…")
	}
	name := "act"
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "hold="); ok {
			fmt.Fprintln(takeNotes(path), "started")
		}
		if given, ok := strings.CutPrefix(arg, "tool="); ok {
			name = given
		}
	}
	tools := fmt.Sprintf(`[{"name":%q,"description":"Acts.","inputSchema":{"type":"object"}}]`,
		name)
	if does("invalid-tools") {
		tools = invalidTools
	}
	serveLines(func(m message, reply func(string)) {
		answer := func(body string) {
			id := string(m.ID)
			if does("answer-text-ids") {
				id = strconv.Quote(id)
			}
			if m.ID != nil && !does("say-nothing") {
				reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, body))
			}
		}
		switch {
		case m.Method == "server/discover" && does("end-at-probe"):
			syscall.Exit(1)
		case m.Method == "server/discover" && does("ignore-probe"):
		case m.Method == "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"odd","version":"1"}}`)
		case m.Method == "tools/list" && does("end-at-list"):
			fmt.Fprintln(os.Stderr, "out of tools")
			syscall.Exit(9)
		case m.Method == "tools/list" && does("ignore-list"):
		case m.Method == "tools/list":
			answer(`"result":{"tools":` + tools + `}`)
			if does("answer-twice") {
				answer(`"result":{"tools":[]}`)
			}
		case m.Method == "prompts/list" && !does("invalid-tools"):
			answer(`"result":{"prompts":[]}`)
		default:
			answer(`"error":{"code":-32601,"message":"Method not found"}`)
		}
	})
	if does("stay") {
		time.Sleep(time.Hour)
	}
}
