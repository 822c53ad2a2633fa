package client

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	celsius = `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]}}`
	fits    = `{"resultType":"complete","content":[],"structuredContent":{"t":1.50}}`
	misfits = `{"resultType":"complete","content":[],"structuredContent":{"t":"hot"}}`
)

// toolServer lists one tool with a fixed result, and counts the lists.
func toolServer(tool, result string, lists *int) func(s *scripted) {
	return func(s *scripted) {
		s.modern()
		for m := s.read(); m.line != ""; m = s.read() {
			switch m.Method {
			case "tools/list":
				*lists++
				s.reply(m, `{"resultType":"complete","tools":[`+tool+
					`],"ttlMs":0,"cacheScope":"private"}`)
			case "tools/call":
				s.reply(m, result)
			}
		}
	}
}

func TestOutput(t *testing.T) {
	const misfit = `server "server": tool "t": its result does not fit its outputSchema: t must be a number, not "hot"`
	for _, test := range []struct {
		name, tool, result string
		// the error with OutputFail, and a part of the log with OutputWarn
		fail, warning string
	}{
		{"it fits", celsius, fits, "", ""},
		{"it does not fit", celsius, misfits, misfit,
			`its result does not fit its outputSchema: t must`},
		{"there is none", celsius, `{"resultType":"complete","content":[]}`,
			`server "server": tool "t": its result does not fit its outputSchema: there is no structuredContent`,
			"there is no structuredContent"},
		{"null does not fit", celsius,
			`{"resultType":"complete","content":[],"structuredContent":null}`,
			`server "server": tool "t": its result does not fit its outputSchema: must be an object, not null`,
			"must be an object"},
		{"the tool has failed", celsius,
			`{"resultType":"complete","content":[],"isError":true,"structuredContent":1}`, "", ""},
		{"no schema", `{"name":"t","inputSchema":{}}`, misfits, "", ""},
		{"a schema of no use", `{"name":"t","inputSchema":{},"outputSchema":{"type":"objekt"}}`,
			fits, "", "it cannot be checked"},
		{"a reference elsewhere",
			`{"name":"t","inputSchema":{},"outputSchema":{"$ref":"https://example.com/s"}}`, fits,
			"", "it cannot be checked"},
		{"a list of another tool", `{"name":"u","inputSchema":{},"outputSchema":false}`, misfits,
			"", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			for _, check := range []OutputCheck{OutputWarn, OutputFail, OutputUnchecked} {
				lists := 0
				log.Reset()
				c := connect(t, Options{Output: check,
					Logger: slog.New(slog.NewTextHandler(&log, nil))},
					toolServer(test.tool, test.result, &lists))
				if check == OutputWarn {
					for _, err := range c.Integration().Pages(t.Context(), mcp.KindTool) {
						assert.NilError(t, err)
					}
				}
				for range 2 {
					raw, err := c.CallToolRaw(t.Context(), "t", nil)
					if check == OutputFail && test.fail != "" {
						assert.Error(t, err, test.fail)
						misfit, ok := errors.AsType[*OutputError](err)
						assert.Assert(t, ok && errors.Is(err, rpc.ErrProtocol))
						assert.Equal(t, string(misfit.Result), test.result)
						continue
					}
					assert.NilError(t, err)
					assert.Equal(t, string(raw), test.result)
				}
				shut(t, c)
				if check != OutputUnchecked && test.warning != "" && test.fail == "" ||
					check == OutputWarn && test.warning != "" {
					assert.Assert(t, cmp.Contains(log.String(), test.warning))
					assert.Equal(t, strings.Count(log.String(), "\n"), 1, "%s", &log) // a single warning
				} else {
					assert.Equal(t, log.String(), "")
				}
			}
		})
	}
}

// With OutputFail, the tools are listed before a call of a tool that was not listed; with
// OutputWarn they are not.
func TestOutputLooksAtTheList(t *testing.T) {
	for check, want := range map[OutputCheck]int{OutputFail: 1, OutputWarn: 0, OutputUnchecked: 0} {
		lists := 0
		c := connect(t, Options{Output: check}, toolServer(celsius, fits, &lists))
		for range 3 {
			_, err := c.CallTool(t.Context(), "t", nil)
			assert.NilError(t, err)
		}
		assert.Equal(t, lists, want)
	}
}

// A later list with another schema replaces the schema.
func TestOutputLearns(t *testing.T) {
	c := connect(t, Options{Output: OutputFail}, func(s *scripted) {
		s.modern()
		for i := 0; ; {
			switch m := s.read(); m.Method {
			case "tools/list":
				i++
				s.reply(m, fmt.Sprintf(
					`{"resultType":"complete","tools":[{"name":"t","inputSchema":{},"outputSchema":{"const":%d}}]}`,
					i))
			case "tools/call":
				s.reply(m, `{"resultType":"complete","content":[],"structuredContent":2}`)
			default:
				return
			}
		}
	})
	_, err := c.CallTool(t.Context(), "t", nil)
	assert.ErrorContains(t, err, "does not fit")
	for _, err := range c.Tools(t.Context()) {
		assert.NilError(t, err)
	}
	_, err = c.CallTool(t.Context(), "t", nil)
	assert.NilError(t, err)
}
