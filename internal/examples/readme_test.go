package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// TestReadme pastes README as a stranger would: it writes the programs to the files that the text
// names, runs the commands in their order, and compares what they print with what README shows. The
// section "Try it" runs at the top of this repository, the rest in a new folder beside a clone.
// What needs the network is replaced: see offline.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("README has the commands of a POSIX shell")
	}
	for _, program := range []string{"go", "sh", "git", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s command", program)
		}
	}
	root, err := filepath.Abs("../..")
	assert.NilError(t, err)
	if exec.Command("git", "-C", root, "rev-parse", "HEAD").Run() != nil {
		t.Skip("the test needs a clone, not an archive")
	}
	lines := strings.Split(readText(t, "../../README.md"), "\n")
	assert.Assert(t, len(lines) <= 151, "README has %d lines, want at most 150", len(lines)-1)

	dir := t.TempDir()
	assert.NilError(t, os.Symlink(root, filepath.Join(dir, "stdwire")))
	bin := filepath.Join(dir, "bin")
	out, err := exec.Command("go", "build", "-o", bin+"/", root+"/cmd/stdwire").CombinedOutput()
	assert.NilError(t, err, "%s", out)
	p := &paste{t: t, dir: root, path: bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		root: root}
	pasted := 0
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case strings.HasPrefix(line, "## ") && line != "## Try it":
			if p.dir == root {
				p.dir = dir
			}
		case line == "```go":
			start := i + 1
			for i++; lines[i] != "```"; i++ {
			}
			p.program(lines[:start-1], strings.Join(lines[start:i], "\n")+"\n")
			pasted++
		case strings.HasPrefix(line, "    $ "):
			command := line[6:]
			for strings.HasSuffix(command, `\`) {
				i++
				command += "\n" + lines[i]
			}
			first, want := i+1, ""
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ") &&
				!strings.HasPrefix(lines[i+1], "    $ ") {
				i++
				want += lines[i][4:] + "\n"
			}
			p.command(first, command, want)
			pasted++
		}
	}
	assert.Assert(t, pasted > 8, "only %d blocks were found", pasted)
}

// TestReadmeFigures tests that the figures in README are those of the benchmarks' page: each cell
// begins the cell of the row with the same name.
func TestReadmeFigures(t *testing.T) {
	cells := func(row string) []string {
		fields := strings.Split(row, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		return fields
	}
	measured := map[string][]string{}
	for line := range strings.Lines(readText(t, "../bench/README.md")) {
		if row := cells(line); len(row) > 4 && measured[row[1]] == nil {
			measured[row[1]] = row
		}
	}
	rows := 0
	_, table, _ := strings.Cut(readText(t, "../../README.md"), "| | stdwire |")
	table, _, _ = strings.Cut("| | stdwire |"+table, "\n\n")
	for line := range strings.Lines(table) {
		row := cells(line)
		if strings.HasPrefix(row[1], "---") {
			continue
		}
		rows++
		for i, cell := range row {
			known := measured[row[1]]
			assert.Check(t, len(known) > i && strings.HasPrefix(known[i], cell),
				"%s: %q is not in internal/bench/README.md", row[1], cell)
		}
	}
	assert.Equal(t, rows, 7) // with the head
}

// readText returns a file with the line ends of Unix.
func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// A paste is a stranger's terminal.
type paste struct {
	t         *testing.T
	dir, path string
	root      string // of the repository
}

// offline has, for commands that need the network or take too long, what the test runs instead.
func (p *paste) offline(command string) (string, bool) {
	switch {
	case strings.HasPrefix(command, "go install "), command == "go test ./...":
		return "", false // the binary is in the path, and this is one of the tests
	case strings.HasPrefix(command, "go get "):
		return fmt.Sprintf("go mod edit -require=github.com/stdwire/stdwire@v0.0.0 "+
			"-replace=github.com/stdwire/stdwire='%s'", p.root), true
	}
	return command, true
}

// figures are what differs from run to run: sizes, times and the columns that depend on them.
var figures = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z|\d+ ms|  +\d+  +`)

func (p *paste) command(line int, command, want string) {
	p.t.Helper()
	replaced, ok := p.offline(command)
	if !ok {
		return
	}
	const mark = "the shell is now in "
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", replaced+"\necho '"+mark+"'\"$PWD\"")
	cmd.Dir = p.dir
	cmd.WaitDelay = time.Minute
	cmd.Env = append(os.Environ(), "PATH="+p.path, "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	assert.NilError(p.t, err, "README.md:%d: %s\n%s", line, command, out)
	got, dir, ok := strings.Cut(string(out), mark)
	assert.Assert(p.t, ok, "%s", out)
	p.dir = strings.TrimSpace(dir)
	if strings.HasPrefix(command, "go ") && want == "" || strings.Contains(command, "go mod init") {
		return // what the go command says is its own affair
	}
	assert.Check(p.t, cmp.Equal(figures.ReplaceAllString(got, "…"),
		figures.ReplaceAllString(want, "…")), "README.md:%d: %s\nprints\n%s", line, command, got)
}

var (
	fileName = regexp.MustCompile("`([a-z]+/main\\.go)`")
	output   = regexp.MustCompile(`(?m)^// Output: (.*)$`)
)

// program writes a program to the file that the text before it names, or, if it names none, runs
// it. A program without a package clause is the body of main, whose imports an editor adds.
func (p *paste) program(before []string, text string) {
	p.t.Helper()
	line := len(before)
	introduction := before[line-2]
	body := text
	if !strings.HasPrefix(text, "package ") {
		body = "package main\n\nimport (\n"
		for _, path := range []string{"context", "fmt", "log",
			"github.com/stdwire/stdwire/client", "github.com/stdwire/stdwire/rpc"} {
			if strings.Contains(text, path[strings.LastIndexByte(path, '/')+1:]+".") {
				body += fmt.Sprintf("\t%q\n", path)
			}
		}
		body += ")\n\nfunc main() {\n" + text + "}\n"
	}
	name := "pasted/main.go"
	m := fileName.FindStringSubmatch(introduction)
	if m != nil {
		name = m[1]
	}
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	assert.NilError(p.t, os.MkdirAll(filepath.Dir(file), 0o700))
	assert.NilError(p.t, os.WriteFile(file, []byte(body), 0o600))
	want := output.FindStringSubmatch(text)
	assert.Assert(p.t, m != nil || want != nil,
		"README.md:%d: the program has neither a file's name before it nor its output", line)
	if want != nil {
		p.command(line, "go run ./"+filepath.Dir(name), want[1]+"\n")
	}
}
