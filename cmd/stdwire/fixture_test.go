package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
)

// TestMain lets the test binary run as stdwire or as one of the fixtures, so that tests start real
// processes.
func TestMain(m *testing.M) {
	guard.Main()
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.") {
		commandtest.WaitTogether()
		os.Exit(m.Run())
	}
	// Unlike os.Exit, this does not wait a second for the race detector.
	if name, ok := strings.CutPrefix(os.Args[1], "fixture:"); ok {
		fixtures[name](os.Args[2:])
		syscall.Exit(0)
	}
	syscall.Exit(program(grace))
}

// stdwire returns the program as a process.
func stdwire(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	path, err := os.Executable()
	assert.NilError(t, err)
	cmd = exec.CommandContext(t.Context(), path, args...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func exitCode(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// fixture returns the command of a test server.
func fixture(name string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{"--", self, "fixture:" + name}, args...)
}

var fixtures = map[string]func(args []string){
	"lists":          serveLists,
	"tampered-skill": serveTamperedSkill,
	// crash ends at once.
	"crash": func([]string) {
		fmt.Fprint(os.Stderr, "loading\nboom: missing API key\n")
		syscall.Exit(3)
	},
	// silent reads and never answers.
	"silent": func([]string) {
		fmt.Fprintln(os.Stderr, "please log in")
		_, _ = io.Copy(io.Discard, os.Stdin)
	},
	// mute begins a session with empty lists and does not answer the methods that are its
	// arguments.
	"mute": func(args []string) {
		answers := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"mute","version":"1"}}`,
			"tools/list": `{"tools":[]}`, "resources/list": `{"resources":[]}`,
			"resources/templates/list": `{"resourceTemplates":[]}`,
			"prompts/list":             `{"prompts":[]}`,
		}
		serveLines(func(m message, reply func(string)) {
			result, known := answers[m.Method]
			switch {
			case m.ID == nil || slices.Contains(args, m.Method):
			case known:
				reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			default:
				reply(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`,
					m.ID))
			}
		})
	},
	// hang has a tool, a resource and a prompt, and answers no call of them, but creates a file.
	"hang": func(args []string) {
		answers := map[string]string{
			"initialize":               `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"hang","version":"1"}}`,
			"tools/list":               `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
			"resources/list":           `{"resources":[{"name":"r","uri":"x:r"}]}`,
			"resources/templates/list": `{"resourceTemplates":[]}`,
			"prompts/list":             `{"prompts":[{"name":"p"}]}`,
		}
		serveLines(func(m message, reply func(string)) {
			switch result := answers[m.Method]; {
			case result != "":
				reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			case m.Method == "server/discover":
				reply(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID))
			case m.ID != nil:
				_ = os.WriteFile(args[0], nil, 0o600)
			}
		})
	},
	// refuse answers every request with an error.
	"refuse": func([]string) {
		serveLines(func(m message, reply func(string)) {
			if m.ID != nil {
				reply(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"go away"}}`, m.ID))
			}
		})
	},
	// once runs as stdwire with the arguments after the first, which names a file for its stderr.
	// If the file exists, it ends.
	"once": func(args []string) {
		f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			syscall.Exit(1)
		}
		os.Stderr, os.Args = f, append(os.Args[:1], args[1:]...)
		syscall.Exit(program(grace))
	},
	// touch creates a file and serves.
	"touch": func(args []string) {
		_ = os.WriteFile(args[0], nil, 0o600)
		(&fake{}).serve()
	},
	// value appends a line with the variable VALUE to a file.
	"value": func(args []string) {
		f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, os.Getenv("VALUE"))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			panic(err)
		}
		(&fake{}).serve()
	},
	// browser opens the page that a file leads to.
	"browser": func(args []string) {
		file, err := os.ReadFile(args[0])
		_, page, _ := strings.Cut(string(file), `content="0;url=`)
		page, _, _ = strings.Cut(page, `"`)
		if err == nil {
			err = visit(html.UnescapeString(page))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
	},
	// good is a server without faults. With a file, it notes there which call runs and which was
	// cancelled.
	"good": func(args []string) {
		f := &fake{}
		if len(args) > 0 {
			f.notes = takeNotes(args[0])
		}
		f.serve()
	},
	// noisy writes logs to stdout, ends lines with CRLF, and splits messages.
	"noisy": func([]string) { (&fake{noisy: true}).serve() },
	// parent leaves a grandchild that holds its stdout open, takes notes, and ignores signals.
	"parent": func(args []string) {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		started, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		cmd := exec.Command(self, "fixture:hold", args[0], started.Addr().String())
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if _, err := started.Accept(); err != nil {
			panic(err)
		}
		(&fake{}).serve()
	},
	// model answers a sampling request, or does what its argument says.
	"model": answerSample,
	// cat copies stdin to stdout.
	"cat": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
	// hold takes notes until their reader is gone, beginning with one when it is ready.
	"hold": func(args []string) {
		signal.Ignore(syscall.SIGTERM)
		notes := takeNotes(args[0])
		_ = takeNotes(args[1]).Close()
		_, _ = io.Copy(io.Discard, notes)
	},
	// library has resources, prompts and questions.
	"library": func(args []string) {
		l := new(library)
		if len(args) > 0 && args[0] != "" {
			l.notes = takeNotes(args[0])
		}
		l.serve("2025-11-25")
	},
	// old is a library with a revision whose completion has no context.
	"old":    func([]string) { new(library).serve("2025-03-26") },
	"asking": serveAsking,
	// roots requests roots.
	"roots": serveRoots,
	// modern asks for a name before it returns anything.
	"modern": serveModern,
	// modern-task has a tool that becomes a task.
	"modern-task": serveModernTask,
	// tasks has a list of tasks of 2025-11-25.
	"tasks": serveTasks,
	// forms asks the user and the model of its client.
	"forms": serveForms,
	// rich has everything that the shell completes, lists and shows.
	"rich": func(args []string) { newRich(args).serve() },
	// misleading has tools that a scan reports.
	"misleading": func([]string) { serveMisleading() },
	// faulty has the fault that its arguments name; see serveFaulty.
	"faulty": serveFaulty,
	// nothing has tools with invalid results.
	"nothing": func([]string) {
		results := map[string]string{"none": "null", "number": "7"}
		serveLines(func(m message, reply func(string)) {
			result, failed := new(fake).answer(m)
			switch m.Method {
			case "tools/list":
				result = `{"tools":[{"name":"none","inputSchema":{"type":"object"}},{"name":"number","inputSchema":{"type":"object"}}]}`
			case "tools/call":
				result, failed = results[m.Params.Name], ""
			}
			switch {
			case m.ID == nil:
			case failed != "":
				reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failed))
			default:
				reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
			}
		})
	},
	// toolless has no tools.
	"toolless": func([]string) { (&fake{toolless: true}).serve() },
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		TaskID    string          `json:"taskId"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// serveLines calls handle with each message.
func serveLines(handle func(m message, reply func(string))) {
	for r := bufio.NewReader(os.Stdin); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			handle(m, func(text string) { fmt.Println(text) })
		}
	}
}

// A fake is a legacy server written without stdwire, so that stdwire is not tested against itself.
type fake struct {
	noisy, toolless bool
	notes           io.Writer
	asked           json.RawMessage // the id of the call that is never answered
}

// The tools of a fake, in two pages. The white space shows whether lists pass through byte for
// byte.
const fakePage1 = `[{"name":"echo","description":"Says it again.\n\nAt length.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},"required":["text"]},"x-unknown": [ 1.0 ]},
	{"name":"hang","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}} ]`
const fakePage2 = `[{"name":"fail","inputSchema":{"type":"object"}},{"name":"refuse","inputSchema":{"type":"object"}},{"name":"big","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"properties":{"ms":{"type":"integer"}}}},{"name":"strange","inputSchema":{"type":"object","pattern":"(?=x)"}}]`

func (f *fake) serve() {
	serveLines(func(m message, reply func(string)) {
		if f.noisy {
			fmt.Print("Starting server…\r\n\r\n[DEBUG] got ", m.Method, "\n")
			reply = func(text string) {
				text = strings.ReplaceAll(text, "\n", " ")
				fmt.Print(text[:len(text)/2])
				fmt.Print(text[len(text)/2:] + "\r\n")
			}
		}
		oneLine := func(text string) {
			reply(strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), "\t", ""))
		}
		result, failed := f.answer(m)
		switch {
		case m.ID == nil:
		case failed != "":
			oneLine(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failed))
		case result != "":
			oneLine(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
		}
	})
}

func (f *fake) answer(m message) (result, failed string) {
	switch m.Method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false,"x":1},"logging":{}},"serverInfo":{"name":"fake","version":"1.2"},"instructions":"Be kind."}`,
			""
	case "tools/list":
		if f.toolless {
			break
		}
		if m.Params.Cursor == "" {
			return `{"tools":` + fakePage1 + `,"nextCursor":"2"}`, ""
		}
		return `{"tools":` + fakePage2 + `}`, ""
	case "tools/call":
		return f.call(m)
	case "notifications/cancelled":
		if f.notes != nil && bytes.Equal(m.Params.RequestID, f.asked) {
			fmt.Fprintln(f.notes, "cancelled")
		}
	}
	return "", `{"code":-32601,"message":"Method not found"}`
}

func (f *fake) call(m message) (result, failed string) {
	text := func(s string) string {
		quoted, _ := json.Marshal(s)
		return `{"content":[{"type":"text","text":` + string(quoted) + `}],"x-unknown": 1.0}`
	}
	switch m.Params.Name {
	case "echo":
		return text(string(m.Params.Arguments)), ""
	case "hang":
		f.asked = m.ID
		if f.notes != nil {
			fmt.Fprintln(f.notes, "working")
		}
		return "", ""
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		syscall.Exit(7)
	case "fail":
		return `{"content":[{"type":"text","text":"disk full"}],"isError":true}`, ""
	case "refuse":
		return "", `{"code":-32602,"message":"not with \u001b[31mthese"}`
	case "big":
		arguments := struct{ MB int }{5}
		_ = json.Unmarshal(m.Params.Arguments, &arguments)
		return text(strings.Repeat("0123456789abcde\n", arguments.MB<<20/16)), ""
	case "slow":
		var arguments struct{ Ms time.Duration }
		_ = json.Unmarshal(m.Params.Arguments, &arguments)
		for i := range 5 {
			time.Sleep(arguments.Ms * time.Millisecond)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":5,"message":"step"}}`+
				"\n", m.Params.Meta.ProgressToken, i+1)
		}
		return text("done"), ""
	case "strange":
		return text("called"), ""
	}
	return "", `{"code":-32602,"message":"Unknown tool"}`
}
