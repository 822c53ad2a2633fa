package examples

import (
	"flag"
	"go/format"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const migratePage = "../../cmd/stdwire/internal/topic/pages/migrate.txt"

// The page of stdwire help and the package comment have one text, that of the page. After a change
// of it, run go test ./internal/examples -run TestMigrate -update.
func TestMigrateIsPackageComment(t *testing.T) {
	formatted, err := format.Source([]byte(packageComment(readText(t, migratePage))))
	assert.NilError(t, err)
	want := string(formatted)
	if flag.Lookup("update").Value.String() == "true" { // a flag of package assert
		assert.NilError(t, os.WriteFile("migrate/doc.go", []byte(want), 0o600))
	}
	assert.Equal(t, readText(t, "migrate/doc.go"), want,
		"run go test ./internal/examples -run TestMigrate -update")
}

// packageComment returns a page of help as the file doc.go of package migrate. A line that ends no
// sentence between blank lines becomes a heading, and what is indented stays as it is.
func packageComment(page string) string {
	var b strings.Builder
	b.WriteString("// Package migrate has no code. It is the page that stdwire help migrate prints:\n//\n")
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	for i, line := range lines {
		alone := (i == 0 || lines[i-1] == "") && i+1 < len(lines) && lines[i+1] == ""
		switch {
		case line == "":
			b.WriteString("//\n")
		case i > 0 && alone && !strings.HasSuffix(line, "."):
			b.WriteString("// # " + line + "\n")
		case line[0] == ' ' || line[0] == '(':
			b.WriteString("//\t" + line + "\n")
		default:
			b.WriteString("// " + line + "\n")
		}
	}
	return b.String() + "package migrate\n"
}

var (
	qualified = regexp.MustCompile(
		`\b(server|client|rpc|dispatch|mcp|mcptest|streamable|framing|lsp|socket|rpchttp)` +
			`\.([A-Z]\w*)(?:(?:\{[^}]*\})?\.([A-Z]\w*))?`)
	method = regexp.MustCompile(`\b(s|c)\.([A-Z]\w*)`)
)

// Every name of this module that the page mentions exists. In its tables, what is indented by six
// is about this module, and what is indented by two about another one.
func TestMigrateNames(t *testing.T) {
	api := readText(t, "../layers/testdata/api.txt")
	exported := map[string]string{} // the declarations of each package, by its last element
	for _, text := range strings.Split(api, "package github.com/stdwire/stdwire/")[1:] {
		path, declarations, _ := strings.Cut(text, "\n")
		exported[path[strings.LastIndexByte(path, '/')+1:]] += declarations
	}
	has := func(pkg, name, member string) bool {
		text := exported[pkg]
		if member == "" {
			return regexp.MustCompile(`(?m)^(func |type |var |const |\t)` + name + `\b`).
				MatchString(text)
		}
		typed := regexp.MustCompile(`(?ms)^type ` + name + ` (struct|interface) \{.*?^\}`).
			FindString(text)
		return regexp.MustCompile(`(?m)^\t(\w+, )*`+member+`\b`).MatchString(typed) ||
			regexp.MustCompile(`(?m)^func \(\w+ \*?`+name+`\) `+member+`\b`).MatchString(text)
	}
	names, tables := 0, false
	for i, line := range strings.Split(readText(t, migratePage), "\n") {
		tables = tables || line == "Servers of MCP"
		if tables && !strings.HasPrefix(line, "      ") {
			continue
		}
		for _, m := range qualified.FindAllStringSubmatch(line, -1) {
			names++
			assert.Check(t, has(m[1], m[2], "") && (m[3] == "" || has(m[1], m[2], m[3]) ||
				m[3] == "Translate" || m[3] == "Lenient"), "migrate.txt:%d: there is no %s", i+1, m[0])
		}
		for _, m := range method.FindAllStringSubmatch(line, -1) {
			names++
			of := map[string][2]string{"s": {"server", "Server"}, "c": {"client", "Client"}}[m[1]]
			assert.Check(t, has(of[0], of[1], m[2]), "migrate.txt:%d: there is no %s", i+1, m[0])
		}
	}
	assert.Assert(t, names > 80, "%d", names)
}
