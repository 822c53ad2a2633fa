//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
)

// An exchange is a line for an interpreter and the expected answer.
type exchange struct {
	operation, arguments string
	want                 string // regular expression for the data
}

// conversations are what interpreters are sent and what they answer.
var conversations = map[string][]exchange{
	"python3": {
		{"proc.start", `{"command":"python3","args":["-i","-q","-u"]}`, `"session":"python3-`},
		{"proc.read", `{"pattern":"^>>> $"}`, `"output":">>> ".*"matched":true`},
		{"proc.send", `{"text":"x = 6 * 7"}`, `"bytes_written":10`},
		{"proc.read", `{"pattern":"^>>> $"}`, `"output":">>> "`},
		{"proc.send", `{"text":"x, 'prüfung'[:4]"}`, `"bytes_written"`},
		{"proc.read", `{"pattern":"^>>> $"}`, `"output":"\(42, 'prüf'\)\\n>>> "`},
		{"proc.send", `{"text":"1/0"}`, `"bytes_written"`},
		{"proc.read", `{"pattern":"^>>> $"}`, `ZeroDivisionError: division by zero\\n>>> "`},
		{"proc.send", `{"text":"exit(3)"}`, `"bytes_written"`},
		{"proc.wait", `{}`, `"running":false,"exit_code":3`},
		{"proc.stop", `{}`, `"stopped":true`},
	},
	"node": {
		{"proc.start", `{"command":"node","args":["-i"]}`, `"session":"node-`},
		{"proc.read", `{"pattern":"> $"}`, `"matched":true`},
		{"proc.send", `{"text":"const x = 6 * 7; x"}`, `"bytes_written"`},
		{"proc.read", `{"pattern":"> $"}`, `"output":"42\\n> "`},
		{"proc.send", `{"text":"process.exit(3)","eof":true}`, `"bytes_written"`},
		{"proc.read", `{"until":"exit"}`, `"running":false,"exit_code":3`},
		{"proc.stop", `{}`, `"stopped":true`},
	},
}

// An interpreter is driven through proc over MCP, the command line and HTTP, with the same input
// and output.
func TestInterpreterByEverySurface(t *testing.T) {
	for language, conversation := range conversations {
		if _, err := exec.LookPath(language); err != nil {
			t.Run(language, func(t *testing.T) { t.Skipf("%s is not installed", language) })
			continue
		}
		for surface, converse := range map[string]func(*testing.T,
			[]exchange) []string{"mcp": converseByMCP, "cli": converseByScript,
			"http": converseByHTTP} {
			t.Run(language+" by "+surface, func(t *testing.T) {
				for i, data := range converse(t, conversation) {
					assert.Assert(t, regexp.MustCompile(conversation[i].want).MatchString(data),
						"%s %s\nwant %s\ngot  %s",
						conversation[i].operation, conversation[i].arguments, conversation[i].want,
						data)
				}
			})
		}
	}
}

func converseByMCP(t *testing.T, conversation []exchange) (answers []string) {
	self, err := os.Executable()
	assert.NilError(t, err)
	c, err := client.Options{}.Spawn(t.Context(),
		client.Command{Path: self, Args: []string{"serve", "--allow-exec"}})
	assert.NilError(t, err)
	defer c.Close()
	for _, e := range conversation {
		result, err := c.CallTool(t.Context(), strings.ReplaceAll(e.operation, ".", "_"),
			json.RawMessage(e.arguments))
		assert.NilError(t, err)
		answers = append(answers, string(result.StructuredContent))
	}
	return answers
}

func converseByScript(t *testing.T, conversation []exchange) (answers []string) {
	var script strings.Builder
	for _, e := range conversation {
		script.WriteString(strings.ReplaceAll(e.operation, ".", " ") + " --json '" +
			strings.ReplaceAll(e.arguments, "'", `'\''`) + "'\n")
	}
	cmd, stdout, stderr := stdwire(t, "run", "--allow-exec", "-o", "json", "-")
	cmd.Stdin = strings.NewReader(script.String())
	assert.NilError(t, cmd.Run(), stderr)
	return strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
}

func converseByHTTP(t *testing.T, conversation []exchange) (answers []string) {
	const token = "a token that nobody guesses"
	t.Setenv("STDWIRE_TEST_TOKEN", token)
	cmd, _, _ := stdwire(t, "serve", "--allow-exec", "--http", "127.0.0.1:0", "--token-env",
		"STDWIRE_TEST_TOKEN")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	defer func() {
		assert.NilError(t, cmd.Process.Signal(os.Interrupt))
		assert.Equal(t, exitCode(cmd.Wait()), 0)
	}()
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	assert.NilError(t, err)
	_, address, ok := strings.Cut(strings.TrimSpace(line), "HTTP API at ")
	assert.Assert(t, ok && !strings.Contains(line, token), line)
	go func() { _, _ = io.Copy(io.Discard, lines) }()

	response, err := http.Post(address+"proc", "application/json",
		strings.NewReader(`{"action":"list"}`))
	assert.NilError(t, err)
	response.Body.Close()
	assert.Equal(t, response.StatusCode, http.StatusUnauthorized)
	for _, e := range conversation {
		_, action, _ := strings.Cut(e.operation, ".")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"proc",
			strings.NewReader(`{"action":"`+action+`","params":`+e.arguments+`}`))
		assert.NilError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		assert.NilError(t, err)
		var text bytes.Buffer
		_, err = text.ReadFrom(response.Body)
		assert.NilError(t, err)
		response.Body.Close()
		answers = append(answers, text.String())
	}
	return answers
}
