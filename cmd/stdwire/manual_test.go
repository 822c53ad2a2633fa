package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
)

// sources calls f with the content of each Go file that the binary may be built from, tests left
// out.
func sources(t *testing.T, f func(path, text string)) {
	t.Helper()
	ofTests := []string{"bench", "conformance", "growth", "mcptest", "storetest"}
	for _, root := range []string{"cmd", "client", "server", "dispatch", "rpc", "framing",
		"internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root),
			func(path string, d fs.DirEntry, err error) error {
				if d.IsDir() && slices.Contains(ofTests, d.Name()) {
					return fs.SkipDir
				}
				if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				text, err := os.ReadFile(path)
				f(filepath.ToSlash(path), string(text))
				return err
			})
		assert.NilError(t, err)
	}
}

// page returns the text of a topic.
func page(t *testing.T, name string) string {
	t.Helper()
	p, ok := topic.Find(name)
	assert.Assert(t, ok, name)
	return p.Text
}

// The page of variables has each variable that the source reads, and no other.
func TestVariablesPage(t *testing.T) {
	t.Parallel()
	text := page(t, "variables")
	direct := regexp.MustCompile(
		`(?:Getenv|LookupEnv)\((?:env, )?"([A-Za-z_]+)"\)|"((?:STDWIRE|XDG|OTEL)_[A-Z_]+)"|"((?:LOCAL)?APPDATA)"`)
	implied := map[string][]string{ // by functions of the standard library
		"ProxyFromEnvironment(": {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"},
		"ProxyFromEnvironment,": {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"},
		"UserHomeDir(":          {"HOME", "USERPROFILE"},
		"UserCacheDir(":         {"XDG_CACHE_HOME", "LOCALAPPDATA"},
		"os.TempDir(":           {"TMPDIR", "TMP", "TEMP"},
		"tls.Config{":           {"SSL_CERT_FILE", "SSL_CERT_DIR"},
	}
	found := map[string]bool{}
	sources(t, func(path, source string) {
		for _, m := range direct.FindAllStringSubmatch(source, -1) {
			found[strings.TrimSuffix(m[1]+m[2]+m[3], "_")] = true
		}
		for function, names := range implied {
			if strings.Contains(source, function) {
				for _, name := range names {
					found[name] = true
				}
			}
		}
	})
	for name := range found {
		assert.Check(t, regexp.MustCompile(`\b`+name).MatchString(text), "%s is missing", name)
	}
	// The last section also lists variables that stdwire itself does not read.
	listed, _, ok := strings.Cut(text, "Variables that servers inherit")
	assert.Assert(t, ok)
	for _, name := range regexp.MustCompile(`\b[A-Z]+(?:_[A-Z]+)+\b`).FindAllString(listed, -1) {
		name = strings.TrimSuffix(name, "_ID") // STDWIRE_INPUT_ID
		assert.Check(t, found[name], "nothing reads %s", name)
	}
}

// The page of variables lists what a configured server inherits.
func TestInheritedVariables(t *testing.T) {
	source, err := os.ReadFile("../../internal/child/environ.go")
	assert.NilError(t, err)
	_, list, ok := strings.Cut(string(source), "var inherited = []string{")
	assert.Assert(t, ok)
	list, _, _ = strings.Cut(list, "}")
	text := page(t, "variables")
	for _, m := range regexp.MustCompile(`"([A-Za-z_*]+)"`).FindAllStringSubmatch(list, -1) {
		name := m[1]
		if strings.HasSuffix(name, "_proxy") || strings.HasPrefix(name, "NPM_") {
			continue // the same in another case
		}
		assert.Check(t, strings.Contains(text, name), "%s is missing", name)
	}
}

// The page of files has each file of the state, the cache and the configuration.
func TestFilesPage(t *testing.T) {
	t.Parallel()
	text := page(t, "files")
	n := 0
	for _, tt := range []struct{ in, pattern, prefix string }{
		{"", `[sS]tateFile\((?:env, )?"([a-z.]+)"\)`, "STATE/"},
		{"", `configHome\.file\(env, "([a-z.]+)"\)`, "CONFIG/"},
		{"", `[cC]acheDir\("([a-z]+)"\)|filepath\.Join\(dir, "stdwire", "([a-z]+)"\)`, "CACHE/"},
		{"/config/location.go", `\{Path: "([a-z./]+)"`, ""},
		{"/socket/", `Suffix = "([a-z.]+)"`, ""},
	} {
		sources(t, func(path, source string) {
			if !strings.Contains(path, tt.in) {
				return
			}
			for _, m := range regexp.MustCompile(tt.pattern).FindAllStringSubmatch(source, -1) {
				n++
				name := tt.prefix + strings.Join(m[1:], "")
				assert.Check(t, strings.Contains(text, name), "%s is missing; see %s", name, path)
			}
		})
	}
	assert.Assert(t, n >= 14, n)
}

// stdwire help --man writes a page for each command, subcommand and topic, and the judge of manual
// pages finds nothing to warn of but the date that a build without a commit does not have.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "man")
	got := run(t, "help", "--man", dir)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, "")
	again := run(t, "help", "--man", dir)
	assert.Equal(t, again, got)
	expect := []string{"man1/stdwire.1", "man1/stdwire-config-schema.1", "man1/stdwire-tap-mock.1",
		"man1/stdwire-auth-login.1", "man5/stdwire-config-file.5"}
	for _, name := range commands().Names() {
		expect = append(expect, "man1/stdwire-"+name+".1")
	}
	var files []string
	for _, name := range expect {
		assert.Check(t, exists(filepath.Join(dir, name)), name)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	assert.NilError(t, err)
	for _, topic := range topic.All() {
		assert.Check(t, slices.ContainsFunc(files, func(file string) bool {
			return regexp.MustCompile(`stdwire-` + topic.Name + `\.[57]$`).MatchString(file)
		}), topic.Name)
	}
	for _, args := range [][]string{{"help", "--man", dir, "call"}, {"help", "--man="}} {
		assert.Equal(t, run(t, args...).code, 2, args)
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Log("mandoc is not installed")
		return
	}
	out, _ := exec.Command("mandoc", append([]string{"-Tlint", "-Wwarning"}, files...)...).Output()
	for line := range strings.Lines(string(out)) {
		assert.Check(t, strings.Contains(line, "missing date"), line)
	}
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
