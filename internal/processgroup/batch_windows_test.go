package processgroup

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// hostile are arguments that cmd.exe, without the quoting of this package, would execute.
var hostile = []string{
	``, ` `, `a b`, `\`, `a\`, `a b\`, `a\\b`, `\\server\share\`, `-y`, `@scope/pkg@1.2.3`, `/c`,
	`/?`,
	`https://example.com/a?b=c&d=e#f`, `a&b`, `&echo pwned>pwned.txt&`, `|more`, `a|b`, `<in`,
	`>out`,
	`>>out`, `a^b`, `^`, `^^`, `^&`, `(`, `)`, `(a)`, `a,b;c=d`,
	`'a b'`, "`a b`", `~`, `{}`, `[a]`,
	`!PATH!`, `!`, `*`, `?`, `*.go`, `"a"`, `a"b"c`, `\"a\"`, `"a b"`, `a\\"b"`,
	`{"a":1,"b":["x y"]}`,
	`{"a": {"b": "c d"}, "e": "f:/g?h=i"}`, `é ü`, `日本語`, "a\tb", "\u00a0", `--name=value`, `a=b`,
}

// percents are arguments that look like variables.
var percents = []string{
	`%`, `%%`, `50%`, `a%20b`, `%PATH%`, `%FIXTURE%`, `%FIXTURE:~0,1%`, `%cd%`, `%cd:~,%`, `%1`,
	`%*`,
	`%~1`, `a b%PATH%c d`, `https://example.com/%C3%A9?a=b&c=%20`, `{"a":"100%"}`, `%a%b%`, `%=%`,
}

// refused are arguments that cannot be passed to all programs.
var refused = []string{
	"a\nb", "a\rb", "\r\n", "a\x00b", `"`, `a"b`, `"&echo pwned>pwned.txt&ver"`,
	`\"&echo pwned>pwned.txt&ver`, `"a" "`, `{"a":"b & c"}`, `"a|b"`, `"<x>"`, `"^"`, `"(a)"`,
	`"!a!"`,
}

// echoBatch writes a batch file that passes its arguments to this test program.
func echoBatch(t *testing.T, name, line string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(file, []byte("@echo off\r\n"+line+"\r\n"), 0o666))
	return file
}

// runBatch runs a batch file with arguments, and returns the arguments of the program that it ran.
func runBatch(t *testing.T, file string, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	path, err := LookPath(file, "", os.Environ())
	assert.NilError(t, err)
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	assert.NilError(t, err)
	defer out.Close()
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{file}, args...), Dir: dir, Stdout: out, Stderr: os.Stderr,
		Env: append(os.Environ(), fixtureEnv+"=args", "FIXTURE="+self),
	}
	g, err := Start(cmd)
	assert.NilError(t, err)
	_, err = g.Leader.Wait()
	assert.NilError(t, err)
	g.Close()
	text, err := os.ReadFile(out.Name())
	assert.NilError(t, err)
	var got []string
	assert.NilError(t, json.Unmarshal(text, &got), "%q", text)
	made, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(made), 1, "files were made: %v", made)
	return got
}

func TestBatchArguments(t *testing.T) {
	file := echoBatch(t, "echo.cmd", `"%FIXTURE%" %*`)
	for args := range slices.Chunk(slices.Concat(hostile, percents), 10) {
		assert.DeepEqual(t, runBatch(t, file, args...), args)
	}
}

// A batch file may have any name that a file can have.
func TestBatchNames(t *testing.T) {
	for _, name := range []string{
		"plain.CMD", "two words.bat", "a&b.cmd", "50%.cmd", "%PATH%.cmd", "(a)^!b!.bat",
		"é.cmd", "a'b,c;d=e.cmd",
	} {
		file := echoBatch(t, name, `"%FIXTURE%" %*`)
		assert.DeepEqual(t, runBatch(t, file, "x y", "z"), []string{"x y", "z"})
		assert.DeepEqual(t, runBatch(t, file+". ", "x y"), []string{"x y"})
		assert.DeepEqual(t, runBatch(t, strings.TrimSuffix(file, filepath.Ext(file))), []string{})
	}
}

// A batch file that splits its arguments gets them unchanged. These have no percent sign: Wine's
// cmd.exe, unlike Windows', finds variables that extend beyond an argument.
func TestBatchTakesArguments(t *testing.T) {
	file := echoBatch(t, "take.cmd", `"%FIXTURE%" "%~2" %1`)
	for _, args := range [][]string{
		{"a b", "c d"}, {"a&b", "c=d"}, {"a,b;c", `c:\d\`}, {"@a/b", "-y"}, {"", ""}, {"x", "^|"},
	} {
		assert.DeepEqual(t, runBatch(t, file, args...), []string{args[1], args[0]})
	}
}

func TestBatchArgumentsRefused(t *testing.T) {
	file := echoBatch(t, "echo.cmd", `"%FIXTURE%" %*`)
	for _, arg := range refused {
		_, err := Start(&exec.Cmd{Path: file, Args: []string{file, "first", arg}})
		assert.ErrorContains(t, err, "argument 2 of a batch file: cmd.exe", "%q", arg)
	}
	_, err := Start(&exec.Cmd{Path: file, Args: []string{file, strings.Repeat("x", 8192)}})
	assert.ErrorIs(t, err, syscall.E2BIG)
	_, err = os.Stat("pwned.txt")
	assert.Assert(t, errors.Is(err, os.ErrNotExist))
}

// All spellings of a batch file's name are recognized.
func TestIsBatch(t *testing.T) {
	for name, want := range map[string]bool{
		`C:\a.cmd`: true, `C:\a.BAT`: true, `C:\a.Cmd.`: true, `C:\a.bat . `: true, `C:\.bat`: true,
		`C:\a.exe`: false, `C:\a.cmd\b.exe`: false, `C:\cmd`: false, `C:\a.cmdx`: false,
	} {
		assert.Equal(t, isBatch(name), want, "%s", name)
	}
}
