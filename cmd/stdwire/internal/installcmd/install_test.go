package installcmd_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/installcmd"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

var commands = command.Table{installcmd.InstallCommand(), installcmd.UninstallCommand(),
	configcmd.ConfigCommand(), installcmd.AddCommand(), installcmd.RemoveCommand()}

// emptyHome is a project without files, for a user whose applications have no files.
func emptyHome(t *testing.T) (dir string) {
	t.Helper()
	dir = commandtest.Project(t, nil)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	return dir
}

// applicationFiles returns the files that stdwire install lists, by application; those of the
// workspace have --workspace behind the name.
func applicationFiles(t *testing.T) map[string]string {
	t.Helper()
	var listed struct {
		Files []struct {
			Application, Path string
			Workspace, Exists bool
		}
	}
	got := commandtest.Run(t, commands, "install", "-o", "json")
	assert.NilError(t, json.Unmarshal([]byte(got.Stdout), &listed))
	files := map[string]string{}
	for _, f := range listed.Files {
		name := f.Application
		if f.Workspace {
			name += " --workspace"
		}
		files[name] = f.Path
	}
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o640))
	assert.NilError(t, os.Chmod(path, 0o640))
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	return string(text)
}

// A server is installed into every file, checked, and removed, which restores the file.
func TestInstall(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := emptyHome(t)
	files := applicationFiles(t)
	assert.Equal(t, len(files), 16)
	for arguments, path := range files {
		before := "{\r\n\t\"theme\": \"x\", // mine\r\n}\r\n"
		if filepath.Ext(path) == ".toml" {
			before = "# mine\r\ntheme = 'x'\r\n"
		}
		assert.Assert(t, strings.HasPrefix(path, filepath.Dir(dir)), path)
		args := strings.Fields(arguments)
		install := func(more ...string) commandtest.Ran {
			return commandtest.Run(t, commands, append(append([]string{"install"}, args...), more...)...)
		}

		got := install("--print")
		assert.Equal(t, got.Code, 0, got.Stderr)
		assert.Assert(t, cmp.Contains(got.Stdout, "+"))
		_, err := os.Stat(path)
		assert.ErrorIs(t, err, fs.ErrNotExist)

		write(t, path, before)
		got = install("--env", "KEY=hidden", "--name", "mine", "--", "npx", "-y", "pkg")
		assert.Equal(t, got.Code, 0, got.Stderr)
		assert.Equal(t, got.Stdout, "")
		assert.Assert(t, !strings.Contains(got.Stderr, "hidden"))
		after := content(t, path)
		assert.Assert(t, cmp.Contains(after, "hidden"))
		assert.Assert(t, !strings.Contains(strings.ReplaceAll(after, "\r\n", ""), "\n"), "%q", after)
		assert.Equal(t, content(t, path+".stdwire.bak"), before)
		for _, name := range []string{path, path + ".stdwire.bak"} {
			info, err := os.Stat(name)
			assert.NilError(t, err)
			if atomicfile.Permissions {
				assert.Equal(t, info.Mode().Perm(), fs.FileMode(0o640))
			}
		}

		got = commandtest.Run(t, commands, "config", "check", "--config", path)
		assert.Equal(t, got.Code, 0, got.Stderr)
		assert.Assert(t, cmp.Regexp("^mine +valid ", got.Stdout))

		got = install("--env", "KEY=hidden", "--name", "mine", "--", "npx", "-y", "pkg")
		assert.Equal(t, got.Code, 0)
		assert.Assert(t, cmp.Contains(got.Stderr, "already has mine as it should be"))
		got = install("--env", "KEY=hidden2", "--name", "mine", "--", "npx", "-y", "pkg")
		assert.Equal(t, got.Code, 8)
		assert.Assert(t, cmp.Contains(got.Stderr, "already has a different mine\nhint: --force replaces it"))
		assert.Equal(t, content(t, path), after)

		uninstall := append(append([]string{"uninstall"}, args...), "mine")
		got = commandtest.Run(t, commands, append(uninstall, "--print")...)
		assert.Assert(t, cmp.Contains(got.Stdout, "-"))
		assert.Assert(t, !strings.Contains(got.Stdout, "hidden"), got.Stdout)
		assert.Equal(t, content(t, path), after)
		got = commandtest.Run(t, commands, uninstall...)
		assert.Equal(t, got.Code, 0, got.Stderr)
		assert.Equal(t, content(t, path), before)
		got = commandtest.Run(t, commands, uninstall...)
		assert.Equal(t, got.Code, 2)
		assert.Assert(t, cmp.Contains(got.Stderr, `has no server "mine"`))
	}
}

func TestInstallList(t *testing.T) {
	dir := emptyHome(t)
	assert.Equal(t, commandtest.Run(t, commands, "install", "cursor").Code, 0)
	got := commandtest.InDir(dir, commandtest.Run(t, commands, "install").Stdout)
	assert.Assert(t, cmp.Regexp(`\ncursor +exists +/home/.cursor/mcp.json +1 server\ncursor +--workspace +absent +/project/.cursor/mcp.json\n`, got))
}

// installed is the definition of a server in the file of Cursor.
func installed(t *testing.T, name string) string {
	t.Helper()
	var file struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
	}
	assert.NilError(t, json.Unmarshal([]byte(content(t, applicationFiles(t)["cursor"])), &file))
	var b strings.Builder
	for line := range strings.SplitSeq(string(file.MCPServers[name]), "\n") {
		b.WriteString(strings.TrimSpace(line))
	}
	return b.String()
}

func TestInstallSources(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := emptyHome(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	quoted := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	write(t, filepath.Join(dir, "server.js"), "")
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {
  "Git Hub": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
  "off": {"command": "x", "disabled": true}}}`)
	for _, tt := range []struct {
		args       []string
		name, want string
	}{
		{nil, "stdwire", `{"command": ` + quoted(self) + `,"args": ["serve",` + quoted("--root="+dir) + `]}`},
		{[]string{"--write", "--root", "a=sub", "--root=b"}, "stdwire",
			`{"command": ` + quoted(self) + `,"args": ["serve",` + quoted("--root=a="+filepath.Join(dir, "sub")) +
				"," + quoted("--root="+filepath.Join(dir, "b")) + `,"--write"]}`},
		{[]string{"--", "stdwire", "serve", "--root", "."}, "stdwire",
			`{"command": ` + quoted(self) + `,"args": ["serve","--root",` + quoted(dir) + `]}`},
		{[]string{"--", "npx", "-y", "@scope/server-x@1.2.3", "./y"}, "server-x",
			`{"command": "npx","args": ["-y","@scope/server-x@1.2.3",` + quoted(filepath.Join(dir, "y")) + `]}`},
		{[]string{"--", "node", "server.js"}, "server",
			`{"command": "node","args": [` + quoted(filepath.Join(dir, "server.js")) + `]}`},
		{[]string{"--name", "n", "--env", "A", "--env", "B=b", "--", "x"}, "n",
			`{"command": "x","args": [],"env": {"A": "${env:A}","B": "b"}}`},
		{[]string{"--url", "https://example.com/mcp"}, "example.com", `{"url": "https://example.com/mcp"}`},
		{[]string{"https://b.example/mcp", "--header", "Authorization: Bearer ${TOKEN}"}, "b.example",
			`{"url": "https://b.example/mcp","headers": {"Authorization": "Bearer ${env:TOKEN}"}}`},
	} {
		got := commandtest.Run(t, commands, append([]string{"install", "cursor", "--force"}, tt.args...)...)
		assert.Equal(t, got.Code, 0, got.Stderr)
		assert.Equal(t, installed(t, tt.name), tt.want, got.Stderr)
		own := strings.Contains(got.Stderr, "stdwire (stdwire serve ")
		assert.Equal(t, own, tt.args == nil || tt.args[0] == "--write", got.Stderr)
		assert.Equal(t, strings.Contains(got.Stderr, "note: it offers files; "), tt.args == nil)
	}

	// Others than the user may have the file of a workspace.
	shared := commandtest.Run(t, commands, "install", "cursor", "--workspace", "--print", "--root", "sub")
	assert.Equal(t, shared.Code, 0, shared.Stderr)
	assert.Equal(t, strings.Join(strings.Fields(strings.ReplaceAll(shared.Stdout, "+", "")), " "),
		filepath.Join(dir, ".cursor", "mcp.json")+` @@ line 1 @@ { "mcpServers": { "stdwire": { `+
			`"command": "stdwire", "args": [ "serve", "--root=sub" ] } } }`)

	got := commandtest.Run(t, commands, "install", "cursor", "-s", "git-hub")
	assert.Equal(t, got.Code, 7, "a project's server must be trusted")
	assert.Assert(t, cmp.Contains(got.Stderr, `server "Git-Hub" is not trusted`))
	got = commandtest.Run(t, commands, "install", "cursor", "-s", "git-hub", "--config", ".mcp.json")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, installed(t, "Git-Hub"),
		`{"url": "https://example.com/mcp","headers": {"Authorization": "Bearer ${env:TOKEN}"}}`)
	got = commandtest.Run(t, commands, "install", "cursor", "-s", "off", "--config", ".mcp.json")
	assert.Equal(t, got.Code, 7)
	assert.Assert(t, cmp.Contains(got.Stderr, "it is disabled at "))
	got = commandtest.Run(t, commands, "install", "zed", "-s", "git-hub", "--config", ".mcp.json")
	assert.Equal(t, got.Code, 8)
	assert.Assert(t, cmp.Contains(got.Stderr,
		"headers.Authorization has the variable TOKEN, and Zed does not expand variables there"))
}

func TestInstallUsage(t *testing.T) {
	emptyHome(t)
	for _, tt := range []struct{ args, stderr string }{
		{"install cursr", "stdwire: install: there is no application \"cursr\"\nhint: did you mean cursor?\n"},
		{"install --print", "stdwire: install: into which application?\nhint: there are claude-code, claude-desktop, cursor, vscode, gemini, zed, windsurf, opencode, codex\n"},
		{"install cursor npx", "stdwire: install: unexpected argument \"npx\"\nhint: a server command follows --: -- npx\n"},
		{"install cursor -s a -- x", "stdwire: install: -s and a command after -- exclude each other\n"},
		{"install cursor --write --url http://x", "stdwire: install: --url and --write exclude each other\n"},
		{"install cursor --config x", "stdwire: install: --config is for a server of the configuration\nhint: select one: -s ID\n"},
		{"install cursor --url x", "stdwire: install: --url: the value is not an http or https URL\n"},
		{"install cursor --url http://x --env secret=1", "stdwire: install: --env is for a server with a command\n"},
		{"install cursor https://x https://y", "stdwire: install: two URLs are given\n"},
		{"install cursor https://x --url https://y", "stdwire: install: two URLs are given\n"},
		{"install cursor https://", "stdwire: install: the URL has no host\n"},
		{"install cursor --header A:secret -- x", "stdwire: install: --header is for a server at a URL\n"},
		{"install cursor https://x --token-file t", "stdwire: install: unknown flag --token-file\nhint: did you mean --header NAME:VALUE?\n"},
		{"install cursor --env =secret", "stdwire: install: --env: the name of the variable is empty\n"},
		{"install cursor --name a__b", "stdwire: install: --name: the server ID \"a__b\" contains \"__\""},
		{"install cursor -- ...", "stdwire: install: what is the server called?\nhint: give it a --name\n"},
		{"install windsurf --workspace", "stdwire: install: Windsurf reads no file of a workspace\nhint: leave out --workspace, for the user's file\n"},
		{"uninstall", "stdwire: uninstall: from which application?\nhint: stdwire install lists them\n"},
		{"uninstall cursor", "stdwire: uninstall: which server?\n"},
		{"uninstall cursor a b", "stdwire: uninstall: unexpected argument \"b\"\n"},
	} {
		got := commandtest.Run(t, commands, strings.Fields(tt.args)...)
		assert.Equal(t, got.Code, 2, got.Stderr)
		assert.Assert(t, strings.HasPrefix(got.Stderr, tt.stderr), got.Stderr)
		assert.Equal(t, got.Stdout, "")
		assert.Assert(t, !strings.Contains(got.Stderr, "secret"))
	}
}

// A file that is not as it should be stays as it is.
func TestInstallRefusals(t *testing.T) {
	dir := emptyHome(t)
	path := applicationFiles(t)["cursor"]
	refused := func(want string, args ...string) {
		t.Helper()
		got := commandtest.Run(t, commands, append([]string{"install", "cursor"}, args...)...)
		assert.Assert(t, got.Code == 7 || got.Code == 8, got.Stderr)
		assert.Assert(t, cmp.Contains(got.Stderr, want))
		left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".stdwire-*"))
		assert.NilError(t, err)
		assert.Equal(t, len(left), 0)
	}
	const broken = "{\"mcpServers\": {\"a\": {\"env\": {\"A\": \"secret\"}}"
	write(t, path, broken)
	refused(path + ":1:46: ")
	assert.Equal(t, content(t, path), broken)

	assert.NilError(t, os.Remove(path))
	assert.NilError(t, os.Mkdir(path, 0o700))
	refused("this is not a regular file")
	assert.NilError(t, os.Remove(path))

	write(t, path, strings.Repeat(" ", 5<<20))
	refused("has more than 4 MiB")

	write(t, path, "{}")
	assert.NilError(t, os.Chmod(path, 0o400))
	if atomicfile.Permissions {
		refused("the file is read-only")
	}
	assert.NilError(t, os.Chmod(path, 0o600))
	assert.NilError(t, os.Remove(path))
	if runtime.GOOS == "windows" {
		return // symbolic links
	}

	elsewhere := filepath.Join(t.TempDir(), "other.json")
	write(t, elsewhere, "{}")
	assert.NilError(t, os.Symlink(elsewhere, path))
	refused("is reached by a symbolic link to " + elsewhere)
	assert.NilError(t, os.Remove(path))
	assert.NilError(t, os.Symlink(filepath.Join(filepath.Dir(path), "none"), path))
	refused("this is a symbolic link to nothing")
	assert.NilError(t, os.Remove(path))

	dotfiles := filepath.Join(filepath.Dir(dir), "home", "dotfiles.json")
	write(t, dotfiles, "{}")
	assert.NilError(t, os.Symlink(dotfiles, path))
	assert.Equal(t, commandtest.Run(t, commands, "install", "cursor").Code, 0)
	assert.Assert(t, cmp.Contains(content(t, dotfiles), `"stdwire"`))
	target, err := os.Readlink(path)
	assert.NilError(t, err)
	assert.Equal(t, target, dotfiles, "the link stays")

	// The links of a project lead nowhere else, neither those of a directory nor of a backup.
	assert.NilError(t, os.Symlink(filepath.Dir(dotfiles), ".cursor"))
	refused("is reached by a symbolic link to ", "--workspace")
	assert.NilError(t, os.Remove(".cursor"))
	write(t, ".cursor/mcp.json", "{}")
	write(t, elsewhere, "x")
	assert.NilError(t, os.Symlink(elsewhere, ".cursor/mcp.json.stdwire.bak"))
	refused("this is not a regular file", "--workspace")
	assert.Equal(t, content(t, elsewhere), "x")
	assert.Equal(t, content(t, ".cursor/mcp.json"), "{}")
}

// Of many installations at the same time none is lost.
func TestInstallAtTheSameTime(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	emptyHome(t)
	path := applicationFiles(t)["vscode"]
	const before = "{\n  // mine\n}\n"
	write(t, path, before)
	const n = 12
	var all sync.WaitGroup
	each := func(args func(i int) []string) {
		for i := range n {
			all.Go(func() {
				got := commandtest.Run(t, commands, args(i)...)
				assert.Check(t, got.Code == 0, got.Stderr)
			})
		}
		all.Wait()
	}
	each(func(i int) []string {
		return []string{"install", "vscode", "--name", fmt.Sprintf("s%d", i), "--", "x"}
	})
	assert.Equal(t, strings.Count(content(t, path), `"command": "x"`), n)
	assert.Assert(t, strings.HasPrefix(content(t, path), "{\n  // mine\n"))
	each(func(i int) []string { return []string{"uninstall", "vscode", fmt.Sprintf("s%d", i)} })
	assert.Equal(t, content(t, path), "{\n  // mine\n  \"servers\": {}\n}\n")
}
