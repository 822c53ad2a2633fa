package main

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// firstMinute is the picture in README. It is embedded because a test in its own process reads no
// files of the repository.
//
//go:embed testdata/firstminute.svg
var firstMinute string

// The picture in README shows the first minute at a terminal as it is.
func TestFirstMinute(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	const home = "/home/ada"
	dir := shortDir(t, len(home)) // lines are wrapped where they are with home
	self, err := os.Executable()
	assert.NilError(t, err)
	written, err := filepath.Abs("testdata/firstminute.svg")
	assert.NilError(t, err)
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("notes/todo.txt", "buy milk\ncall Bob\n")
	write("notes/done.txt", "return the milk bottles\n")
	write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"notes": {"command": "stdwire",
		"args": ["serve", "--root", %q]}}}`, filepath.Join(dir, "notes")))
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	assert.NilError(t, os.Symlink(self, filepath.Join(dir, "bin", "stdwire")))
	commandtest.SetHome(t, dir)
	for name, value := range map[string]string{"PATH": filepath.Join(dir, "bin"),
		"STDWIRE_CONFIG": "", "XDG_CACHE_HOME": "", "XDG_RUNTIME_DIR": dir} {
		t.Setenv(name, value)
	}
	t.Chdir(filepath.Join(dir, "notes"))

	var frames [][]string
	for _, line := range []string{"", " add --from cursor", " list", " ls",
		" call notes__fs_search pattern=milk"} {
		c := termtest.CaptureTerminal(terminalColumns)
		code := execute(t.Context(), strings.Fields(line), c.Streams)
		shown := "\x1b[1m$ stdwire" + line + "\x1b[0m\n" + c.Stderr.String() + c.Stdout.String()
		assert.Equal(t, code, 0, shown)
		shown = strings.ReplaceAll(strings.TrimRight(shown, "\n"), dir, home)
		frames = append(frames, strings.Split(shown, "\n"))
	}
	picture := animated(frames)
	assert.Assert(t, len(picture) <= 100_000)
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(written, []byte(picture), 0o644))
		return
	}
	assert.Equal(t, picture, firstMinute, "go test ./cmd/stdwire -run FirstMinute -update")
}

// terminalColumns is the width of the terminal in the picture.
const terminalColumns = 100

// shortDir creates a directory whose path has this length.
func shortDir(t *testing.T, length int) string {
	for range 1000 {
		dir := "/tmp/"
		for len(dir) < length {
			dir += string(rune('a' + rand.IntN(26)))
		}
		if os.Mkdir(dir, 0o700) == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Fatal("no directory can be created in /tmp")
	return ""
}

// animated returns an SVG picture of a terminal that shows the frames one after the other. Without
// animation it shows the first.
func animated(frames [][]string) string {
	const width, height, seconds = 7.25, 17, 5
	rows := 0
	for _, lines := range frames {
		rows = max(rows, len(lines))
	}
	w, h := int(terminalColumns*width)+32, (rows+1)*height+16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		"aria-labelledby=\"title\">\n<title id=\"title\">The first minute with stdwire</title>\n", w, h)
	fmt.Fprintf(&b, `<style>
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
.c1 { font-weight: bold } .c2 { fill: #8b949e } .c31 { fill: #ff7b72 } .c32 { fill: #3fb950 }
.c33 { fill: #d29922 } .c34 { fill: #58a6ff } .c35 { fill: #bc8cff } .c36 { fill: #39c5cf }
.f { opacity: 0; animation: show %ds step-end infinite } .f:first-of-type { opacity: 1 }
@keyframes show { 0%% { opacity: 1 } %d%% { opacity: 0 } 100%% { opacity: 0 } }
@media (prefers-reduced-motion) { .f { animation: none } }
</style>
<rect width="%d" height="%d" rx="8" fill="#0d1117"/>
`, seconds*len(frames), 100/len(frames), w, h)
	for i, lines := range frames {
		fmt.Fprintf(&b, "<g class=\"f\" style=\"animation-delay: %ds\">\n", i*seconds)
		for row, line := range lines {
			if line != "" {
				fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\">%s</text>\n", (row+1)*height+8, spans(line))
			}
		}
		b.WriteString("</g>\n")
	}
	return b.String() + "</svg>\n"
}

// spans returns a line with its colours as spans.
func spans(line string) string {
	style := regexp.MustCompile("\x1b\\[([0-9;]*)m")
	var b strings.Builder
	class := ""
	write := func(text string) {
		if class != "" && text != "" {
			fmt.Fprintf(&b, `<tspan class="%s">`, class)
			defer b.WriteString("</tspan>")
		}
		_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	}
	for {
		at := style.FindStringSubmatchIndex(line)
		if at == nil {
			write(line)
			return b.String()
		}
		write(line[:at[0]])
		codes := line[at[2]:at[3]]
		if class = ""; codes != "" && codes != "0" {
			class = "c" + strings.ReplaceAll(codes, ";", " c")
		}
		line = line[at[1]:]
	}
}
