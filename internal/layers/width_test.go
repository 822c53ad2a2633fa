package layers

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	maxColumns = 100
	tabWidth   = 4
)

// TestWidth lists each line of a tracked .go, .md or .sh file that is wider than 100 columns.
// String literals (struct tags among them), URLs, go: directives, tables in Markdown, and files in
// testdata may be wider.
func TestWidth(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "*.go", "*.md",
		"*.sh").Output()
	if err != nil {
		t.Skipf("git ls-files: %v: the test needs a clone, not an archive", err)
	}
	lines, files := 0, 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if strings.Contains("/"+name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		assert.NilError(t, err)
		wide := wideLines(name, text)
		for _, line := range wide {
			t.Errorf("%s:%d: %d columns, want at most %d", name, line.number, line.columns,
				maxColumns)
		}
		if lines += len(wide); len(wide) > 0 {
			files++
		}
	}
	if lines > 0 {
		t.Errorf("%d lines in %d files are wider than %d columns, with tabs of %d: wrap them",
			lines, files, maxColumns, tabWidth)
	}
}

// A wideLine is a line that is wider than maxColumns without the text that may be wider.
type wideLine struct{ number, columns int }

var (
	urls    = regexp.MustCompile(`[a-z]+://[^\s)>]*`)
	padding = regexp.MustCompile(` +\x00`) // gofmt aligns values, and keys may be strings
)

func wideLines(name string, text []byte) []wideLine {
	exempt := bytes.Clone(text) // text, with NUL bytes in place of what may be wider
	if strings.HasSuffix(name, ".go") {
		clearStrings(exempt, text)
	}
	var wide []wideLine
	number, output := 0, false
	for line := range strings.SplitSeq(string(exempt), "\n") {
		number++
		comment := strings.TrimLeft(line, "\t")
		output = strings.HasPrefix(comment, "// Output:") || output &&
			strings.HasPrefix(comment, "//")
		table := strings.HasSuffix(name, ".md") && strings.HasPrefix(strings.TrimSpace(line), "|")
		if table || output || strings.HasPrefix(line, "//go:") {
			continue
		}
		line = urls.ReplaceAllString(strings.TrimSuffix(line, "\r"), "")
		line = padding.ReplaceAllString(line, " ")
		if columns := width(line); columns > maxColumns {
			wide = append(wide, wideLine{number, columns})
		}
	}
	return wide
}

// clearStrings overwrites the string literals in a Go file, but for their line breaks, with NUL.
func clearStrings(dst, src []byte) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, _ := s.Scan()
		if tok == token.EOF {
			return
		}
		if tok != token.STRING {
			continue
		}
		// The scanner removes \r from raw strings, so the literal's length is not that in src.
		start := file.Offset(pos)
		end := start + 1
		for quote := src[start]; src[end] != quote; end++ {
			if quote == '"' && src[end] == '\\' {
				end++
			}
		}
		for i := start; i <= end; i++ {
			if dst[i] != '\n' {
				dst[i] = 0
			}
		}
	}
}

func width(line string) int {
	columns := 0
	for _, r := range line {
		switch r {
		case 0:
		case '\t':
			columns += tabWidth - columns%tabWidth
		default:
			columns++
		}
	}
	return columns
}

func TestWideLines(t *testing.T) {
	x := strings.Repeat("x", maxColumns)
	for _, tc := range []struct {
		name, text string
		want       int // columns, 0 if the line is not wide
	}{
		{"a.go", "// " + x, 103},
		{"a.go", "// " + x[3:], 0},
		{"a.go", "\t// " + x[7:], 0},
		{"a.go", "\t// " + x[6:], 101},
		{"a.go", "var a = \"\\\"" + x + "\"", 0},
		{"a.go", "var a = `" + x + "\n" + x + "x`", 0},
		{"a.go", "var " + x + " = \"a\"", 107},
		{"a.go", "//go:generate " + x, 0},
		{"a.go", "// https://example.com/" + x, 0},
		{"a.go", "\t// Output:\n\t// " + x, 0},
		{"a.go", "\t// Output:\n\t//\n}\n// " + x, 103},
		{"a.go", "// " + strings.Repeat("ä", 97), 0},
		{"a.md", x + "x", 101},
		{"a.md", "| " + x, 0},
		{"a.sh", "# " + x, 102},
	} {
		got := wideLines(tc.name, []byte(tc.text))
		if tc.want == 0 {
			assert.Equal(t, len(got), 0, "%v %s", got, tc.text)
		} else {
			assert.Assert(t, len(got) == 1 && got[0].columns == tc.want, "%v", got)
		}
	}
}
