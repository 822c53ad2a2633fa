package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/doctor"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func elements(t *testing.T, array string) (all []json.RawMessage) {
	t.Helper()
	assert.NilError(t, json.Unmarshal([]byte(array), &all))
	return all
}

// Several servers, in all formats. Accept a difference with: go test ./cmd/stdwire -run ScanFormats
// -update
func TestScanFormats(t *testing.T) {
	servers := []scan.Server{
		{ID: "files", Handshake: json.RawMessage(`{"serverInfo":{"name":"files","version":"1"}}`),
			Lists: map[mcp.Kind][]json.RawMessage{mcp.KindTool: elements(t,
				`[{"name":"read_file","description":"Reads a file."},{"name":"fetch_url","inputSchema":{"properties":{"url":{"type":"string","description":"You must give one."}}}}]`)}},
		{ID: "shady", Handshake: json.RawMessage(misleadingHello),
			Lists: map[mcp.Kind][]json.RawMessage{mcp.KindTool: elements(t, misleadingTools),
				mcp.KindPrompt: elements(t, misleadingPrompt)},
			Config: scan.Config{
				Env: map[string]string{"TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ"}}},
	}
	for file, output := range map[string]string{"scan.txt": "text", "scan.json": "json",
		"scan.sarif": "sarif"} {
		c := termtest.Capture(false)
		r := doctor.NewReportOptions()
		r.Output, r.Ignore = output, []string{"insistence:files", "hidden-layout"}
		err := r.Scan(c.Streams, servers)
		assert.Error(t, err, "6 findings of severity high or worse")
		assert.NilError(t, c.Out.Flush())
		assert.Equal(t, c.Stderr.String(), "note: --ignore hidden-layout matches no finding\n")
		golden.Assert(t,
			strings.ReplaceAll(c.Stdout.String(), `"version": "`+command.Version()+`"`,
				`"version": "VERSION"`), file)
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	got := against(t, "scan", "misleading")
	assert.Equal(t, got.code, 10)
	assert.Assert(t, strings.HasPrefix(got.stdout, self+"\n  critical  "), got.stdout)
	assert.Assert(t, strings.HasSuffix(got.stdout, " in 2 tools, 1 prompt of 1 server\n"),
		got.stdout)
	assert.Equal(t, got.stderr,
		"stdwire: scan: 6 findings of severity high or worse\nhint: to ignore a finding that you reviewed and that is harmless: --ignore RULE:SERVER:NAME\n")

	got = against(t,
		"scan -o json --fail-on critical --ignore insistence --ignore asks-for-secrets:"+self+
			":note", "misleading")
	assert.Equal(t, got.code, 10)
	var document struct {
		Findings []scan.Finding
		Summary  output.ScanSummary
	}
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &document))
	assert.Equal(t, document.Summary.Ignored, 3)
	assert.Equal(t, document.Summary.Found["critical"], 2)
	assert.Equal(t, document.Findings[0].Place,
		scan.Place{Server: self, Kind: "tool", Name: "note", Where: "description"})
	var failed struct{ Error struct{ Code string } }
	assert.NilError(t, json.Unmarshal([]byte(got.stderr), &failed))
	assert.Equal(t, failed.Error.Code, "findings")

	got = against(t, "scan -o sarif --fail-on never", "misleading")
	assert.Equal(t, got.code, 0)
	assert.Equal(t, got.stderr, "")
	assert.Assert(t, json.Valid([]byte(got.stdout)))

	assert.Equal(t, against(t, "scan --fail-on info", "good"),
		ran{0, "no findings in 8 tools of 1 server\n", ""})
	assert.Equal(t, against(t, "scan --fail-on info", "library"),
		ran{0, "no findings in 6 tools, 2 prompts, 2 resources, 1 template of 1 server\n", ""})
	assert.Equal(t, against(t, "scan", "toolless").stdout, "no findings in nothing of 1 server\n")
	assert.Equal(t, run(t, "scan", "--fail-on=info", "--write"),
		ran{0, fmt.Sprintf("no findings in %d tools, 1 resource of 1 server\n",
			len(builtinOperations(t, "--write"))), ""})
	assert.Equal(t, against(t, "scan", "crash").code, 4)
	assert.Equal(t, against(t, "scan", "refuse").code, 4)
}

// The command line of a server is scanned, too, without printing its values.
func TestScanCommandLine(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ"
	got := against(t, "scan --fail-on high", "crash", token)
	assert.Equal(t, got.code, 4)
	got = run(t, words("scan --fail-on high", fixture("toolless", "--token", token)...)...)
	assert.Equal(t, got.code, 10)
	assert.Assert(t, cmp.Contains(got.stdout, "secret-in-config: config, args[2]"))
	assert.Assert(t, !strings.Contains(got.stdout+got.stderr, token))
}

func TestScanUsage(t *testing.T) {
	for args, stderr := range map[string]string{
		"scan --fail-on bad":          `stdwire: scan: --fail-on: "bad" is not one of critical, high, medium, low, info, never`,
		"scan --ignore hiden-unicode": "stdwire: scan: --ignore: there is no rule \"hiden-unicode\"\nhint: did you mean hidden-unicode?",
		"scan --ignore :s":            `stdwire: scan: --ignore: there is no rule ""`,
		"scan -o xml":                 `stdwire: scan: -o: "xml" is not one of text, json, sarif`,
	} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 2, args)
		assert.Assert(t, strings.HasPrefix(got.stderr, stderr), got.stderr)
	}
	help := run(t, "help", "scan").stdout
	for _, rule := range scan.Rules() {
		assert.Assert(t, cmp.Contains(help, "\n  "+rule.ID+" "))
	}
}
