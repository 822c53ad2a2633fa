//go:build linux

package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/conformance"
)

// appCommand is the command of a server with an app; its page is in the folder node.
func appCommand(b *bench, page string, origins ...string) []string {
	b.t.Helper()
	path, err := os.Executable()
	assert.NilError(b.t, err)
	html, err := os.ReadFile("node/" + page)
	assert.NilError(b.t, err)
	b.write(page, string(html))
	return append([]string{path, conformance.RoleApp, b.path(page)}, origins...)
}

// eachEra runs a test with the flag of each era.
func eachEra(t *testing.T, test func(t *testing.T, era string)) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) { test(t, era) })
	}
}

// The app of this module's own tool browses directories.
func TestWebOwnApp(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		b := newNodeBench(t)
		b.write("root/dir/inner.txt", "a")
		b.write("root/outer.txt", "a")
		w := openWeb(t, b, "--era", era, "--", binary(t), "serve", "--root", b.path("root"))
		var got struct {
			Badges, Messages, Findings []string
			Listed, Opened, Told       string
		}
		w.seeIn("webapps.mjs", "own", map[string]any{"server": "stdwire"}, &got)
		assert.Assert(t, cmp.Contains(got.Badges, "app"))
		assert.Assert(t, cmp.Contains(got.Listed, "outer.txt"))
		assert.Assert(t, !strings.Contains(got.Listed, "inner.txt"))
		assert.Assert(t, cmp.Contains(got.Opened, "inner.txt"))
		assert.Assert(t, cmp.Contains(got.Told, "The user looks at the directory dir."))
		all := strings.Join(got.Messages, "\n")
		for _, method := range []string{"ui/initialize", "initialized", "tool-input", "tool-result"} {
			assert.Assert(t, cmp.Contains(all, method))
		}
		assert.Equal(t, len(got.Findings), 0, "%q", got.Findings)
	})
}

// The requests that an app may make of the page, and the notifications that it gets.
func TestWebPoliteApp(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		b := newNodeBench(t)
		command := appCommand(b, "politeapp.html", "https://api.example.com")
		w := openWeb(t, b, append([]string{"--era", era, "--"}, command...)...)
		var got struct {
			Consent, Refused, Allow, Log, Link string
			Destroys                           string
			Before, Height                     int
			Opener                             bool
			Heard, Modes, Last, Findings       []string
			Badges                             []string // of a tool that only the app may call
		}
		w.seeIn("webapps.mjs", "polite", map[string]any{"server": filepath.Base(command[0]),
			"asks": true}, &got)
		assert.Assert(t, cmp.Contains(got.Badges, "not for models"))
		assert.Assert(t, cmp.Contains(got.Consent, "https://api.example.com"))
		assert.Assert(t, cmp.Contains(got.Consent, "camera"))
		assert.Assert(t, cmp.Contains(got.Consent, "no browser lets the page prevent WebRTC"))
		assert.Assert(t, cmp.Contains(got.Destroys, "calls a tool that may destroy something"))
		assert.Assert(t, cmp.Contains(got.Destroys, `"all"`))
		const origin = "It asks for the origin own.example.com: this page gives apps no origin"
		assert.Assert(t, cmp.Contains(got.Consent, origin))
		assert.Assert(t, cmp.Contains(got.Refused, origin))
		assert.DeepEqual(t, got.Modes, []string{"In the page", "Full screen"})
		assert.Equal(t, got.Before, 0)
		assert.Equal(t, got.Allow, "camera")
		assert.DeepEqual(t, got.Heard, []string{"hello light show", `input {"text":"typed"}`,
			`result [{"type":"text","text":"{\"text\":\"typed\"}"}]`})
		assert.Assert(t, got.Height > 300, "%d", got.Height)
		assert.Assert(t, cmp.Contains(got.Log, "hello, model"))
		assert.Assert(t, cmp.Contains(got.Log, "<b>yes</b>"))
		assert.Assert(t, cmp.Contains(got.Link, "https://example.com/docs"))
		assert.Assert(t, got.Opener)
		assert.Assert(t, cmp.Contains(strings.Join(got.Last, "\n"), "ui/resource-teardown"))
		assert.Equal(t, len(got.Findings), 0, "%q", got.Findings)
	})
}

// An app that is shown before its call gets parts of its arguments. It has the size and the display
// mode that the user selects, and is told of them.
func TestWebStagedApp(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		b := newNodeBench(t)
		command := appCommand(b, "stagedapp.html")
		w := openWeb(t, b, append([]string{"--era", era, "--"}, command...)...)
		var got struct {
			First                       string
			At25                        string `json:"at 25"`
			At60                        string `json:"at 60"`
			At100                       string `json:"at 100"`
			Sizes                       map[string][]int
			Shown, Told, Next, Findings []string
			Frames, Sliders             int
		}
		w.seeIn("webapps.mjs", "staged", map[string]any{"server": filepath.Base(command[0])}, &got)
		assert.Assert(t, cmp.Contains(got.First, `"displayMode":"inline"`))
		assert.Assert(t, cmp.Contains(got.First, `"maxHeight":2000`))
		assert.Equal(t, got.At25, `partial {}`)
		assert.Equal(t, got.At60, `partial {"text":"ab"}`)
		assert.Equal(t, got.At100, `partial {"text":"abcdefgh"}`)
		assert.Equal(t, got.Sizes["360 wide"][0], 360)
		assert.DeepEqual(t, got.Sizes["360 × 640"], []int{360, 640})
		assert.Assert(t, got.Sizes["As it fits"][0] > 360, "%v", got.Sizes)
		assert.DeepEqual(t, got.Shown, []string{"fullscreen", "pip", "inline"})
		input := []string{`input {"text":"abcdefgh"}`, `result "{\"text\":\"abcdefgh\"}"`}
		assert.DeepEqual(t, got.Told, append([]string{got.At100}, input...))
		assert.Equal(t, got.Frames, 1)
		assert.Equal(t, got.Sliders, 0)
		assert.DeepEqual(t, got.Next, input)
		assert.Equal(t, len(got.Findings), 0, "%q", got.Findings)
	})
}

// An app is notified that its call was cancelled, and gets no result.
func TestWebAppOfCancelledCall(t *testing.T) {
	b := newNodeBench(t)
	command := appCommand(b, "politeapp.html")
	w := openWeb(t, b, append([]string{"--"}, command...)...)
	var got struct{ Heard []string }
	w.seeIn("webapps.mjs", "cancelled", map[string]any{"server": filepath.Base(command[0])}, &got)
	assert.Equal(t, len(got.Heard), 3, "%q", got.Heard)
	assert.Equal(t, got.Heard[1], "input {}")
	assert.Assert(t, strings.HasPrefix(got.Heard[2], "cancelled"), got.Heard[2])
}

// An app that requests more than it may have gets nothing, and one that sends too much is ended.
func TestWebHostileApp(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		b := newNodeBench(t)
		command := appCommand(b, "hostileapp.html")
		other := pageServer(t, "Echoes.")
		b.write("config.json", fmt.Sprintf(
			`{"mcpServers":{"evil":{"command":%q,"args":[%q,%q],"era":%q},"other":{"command":%q,"args":[%q,%q]}}}`,
			command[0], command[1], command[2], era, other[0], other[1], other[2]))
		w := openWeb(t, b, "--config", "config.json")
		var got struct {
			Tried              map[string]string
			Log, Hacked, After string
			Height             int
			Left               []string
			Flood, Large       string
			FloodFrames        int `json:"flood frames"`
			LargeFrames        int `json:"large frames"`
		}
		w.seeIn("webapps.mjs", "hostile", map[string]any{"server": "evil"}, &got)
		assert.DeepEqual(t, got.Tried, map[string]string{
			"early":  "Invalid request: send ui/initialize first",
			"origin": "null", "top": "SecurityError", "proxy": "SecurityError",
			"frames": "SecurityError", "storage": "SecurityError", "cookie": "SecurityError",
			"api": "TypeError", "sandbox": "TypeError", "image": "TypeError",
			"navigateTop": "SecurityError", "popup": "null",
			"secret": "Apps may not call the tool secret", "other": "Unknown tool: echo",
			"file":    got.Tried["file"],
			"script":  "Invalid params: url must be an http or https URL without a user",
			"mode":    `{"mode":"inline"}`,
			"unknown": "Method not found: this host does not serve sampling/createMessage"})
		assert.Assert(t, got.Tried["file"] != "allowed")
		assert.Assert(t, !strings.Contains(got.Log, "past the proxy"), "%s", got.Log)
		assert.Assert(t, cmp.Contains(got.Log, "<img src=x"))
		assert.Equal(t, got.Hacked, "no")
		assert.Assert(t, got.Height > 1900 && got.Height <= 2000, "%d", got.Height)
		assert.Equal(t, len(got.Left), 0, "%q", got.Left)
		assert.Assert(t, cmp.Contains(got.Flood, "it sends too many messages"))
		assert.Assert(t, cmp.Contains(got.Large, "its messages are too large"))
		assert.Equal(t, got.FloodFrames+got.LargeFrames, 0)
		assert.Assert(t, cmp.Contains(got.After, "the secret"))
	})
}

// The apps of other servers run, and get the notifications of their call.
func TestWebAppsOfRealServers(t *testing.T) {
	for _, name := range []string{"basic-vanillajs", "debug", "system-monitor"} {
		t.Run(name, func(t *testing.T) {
			b := newNodeBench(t)
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
				"real": appServer(b, name)}})
			assert.NilError(t, err)
			b.write("config.json", string(text))
			w := openWeb(t, b, "-s", "real", "--config", "config.json")
			var got struct{ Messages string }
			w.seeIn("webapps.mjs", "real", map[string]any{"server": "real",
				"tool": appServers[name].tool}, &got)
			for _, part := range []string{"ui/initialize", "initialized", "tool-input",
				"tool-result"} {
				assert.Assert(t, cmp.Contains(got.Messages, part))
			}
		})
	}
}

// Skills are listed, shown and verified.
func TestWebSkills(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		path, err := everything()
		assert.NilError(t, err)
		w := openWeb(t, newNodeBench(t), "--era", era, "--", path)
		var got struct {
			Skills, Findings    []string
			Front, All, Content string
		}
		w.seeIn("webapps.mjs", "skills", map[string]any{"server": "everything-server",
			"skill": "refunds"}, &got)
		assert.DeepEqual(t, got.Skills, []string{"refunds", "pdf-processing"})
		assert.Assert(t, cmp.Contains(got.Front, "skill://acme/refunds/SKILL.md"))
		assert.Assert(t, cmp.Contains(got.Front, "Its entry is well formed."))
		assert.Assert(t, cmp.Contains(got.All, "files verified"))
		assert.Assert(t, cmp.Contains(got.Content, "name: refunds"))
		assert.Equal(t, len(got.Findings), 0, "%q", got.Findings)
	})
}

// A file that does not match its entry is not shown, and no file of a malformed entry is.
func TestWebBadSkills(t *testing.T) {
	path, err := os.Executable()
	assert.NilError(t, err)
	w := openWeb(t, newNodeBench(t), "--", path, conformance.RoleSkills)
	var got struct {
		Lying, Changed, Malformed string
		Verify                    int
	}
	w.seeIn("webapps.mjs", "badskills", map[string]any{"server": filepath.Base(path)}, &got)
	assert.Assert(t, cmp.Contains(got.Lying, "verified"))
	assert.Assert(t, cmp.Contains(got.Lying, "b.txt"))
	assert.Assert(t, cmp.Contains(got.Changed, "The file does not match the entry and is not shown."))
	assert.Assert(t, cmp.Contains(got.Malformed, `the name "another" is not the last directory`))
	assert.Equal(t, got.Verify, 0)
}

// A server that the client has not declared apps to offers none.
func TestWebExtensionSwitch(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		b := newNodeBench(t)
		b.write("root/a.txt", "a")
		w := openWeb(t, b, "--era", era, "--", binary(t), "serve", "--root", b.path("root"))
		var got struct {
			Before, Frames int
			Checked        bool
			Findings       []string
		}
		w.seeIn("webapps.mjs", "extension", map[string]any{"server": "stdwire"}, &got)
		assert.Equal(t, got.Before, 1)
		assert.Equal(t, got.Frames, 0)
		assert.Assert(t, !got.Checked)
		assert.Equal(t, len(got.Findings), 0, "%q", got.Findings)
	})
}
