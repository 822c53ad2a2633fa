//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// mcpb returns the outcome of @anthropic-ai/mcpb.
func (b *bench) mcpb(args ...string) outcome {
	return b.run(append([]string{"node", "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"}, args...)...)
}

// The format's own program accepts the bundles that stdwire bundle writes, and stdwire those that
// this program writes.
func TestBundles(t *testing.T) {
	b := newNodeBench(t)
	self := binary(t)
	b.must(self, "bundle", "create", "-o", "files.mcpb", "--name", "files", "--version", "1.0.0",
		"--author", "Ada", "--description", "Files", "--", self, "serve", "--root", "${HOME}")
	o := b.mcpb("info", "files.mcpb")
	assert.Equal(t, o.code, 0, o.String())
	o = b.mcpb("unpack", "files.mcpb", "unpacked")
	assert.Equal(t, o.code, 0, o.String())
	o = b.mcpb("validate", "unpacked/manifest.json")
	assert.Equal(t, o.code, 0, o.String())
	assert.Assert(t, strings.Contains(o.stdout, "Manifest schema validation passes"), o.String())

	// stdwire runs a bundle that this program packs.
	o = b.mcpb("pack", "unpacked", "theirs.mcpb")
	assert.Equal(t, o.code, 0, o.String())
	for _, file := range []string{"files.mcpb", "theirs.mcpb"} {
		b.must(self, "bundle", "show", file)
		o := b.must(self, "call", "fs_list", "--", self, "bundle", "run", file)
		assert.Assert(t, strings.Contains(o.stdout, file), o.String())
	}
	b.ended()
}

// Both programs agree on which manifests are valid.
func TestBundleManifests(t *testing.T) {
	b := newNodeBench(t)
	self := binary(t)
	const valid = `{"manifest_version": "0.3", "name": "n", "version": "1", "description": "d",
		"author": {"name": "a", "email": "a@example.com", "url": "https://example.com"},
		"repository": {"type": "git", "url": "https://example.com/x"}, "keywords": ["k"], "license": "MIT",
		"server": {"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["${__dirname}/i.js"],
			"env": {"A": "1"}, "platform_overrides": {"win32": {"command": "node.exe"}}}},
		"tools": [{"name": "t", "description": "d"}], "tools_generated": true,
		"prompts": [{"name": "p", "text": "x", "arguments": ["a"]}],
		"compatibility": {"claude_desktop": ">=1", "platforms": ["linux"], "runtimes": {"node": ">=20"}},
		"user_config": {"k": {"type": "string", "title": "t", "description": "d", "required": true, "default": "x"}},
		"icons": [{"src": "i.png", "size": "16x16"}], "privacy_policies": ["https://example.com/p"]}`
	for i, change := range [][2]string{{"", ""},
		{`"0.3"`, `"0.9"`}, {`"name": "n",`, ``}, {`"name": "n"`, `"name": 1`},
		{`"author": {"name": "a", `, `"author": {`}, {`"a@example.com"`, `"nobody"`},
		{`"type": "node"`, `"type": "shell"`}, {`"entry_point": "i.js", `, ``},
		{`"command": "node", `, ``}, {`"A": "1"`, `"A": 1`}, {`"win32": {"command"`, `"win32": {"comand"`},
		{`"platforms": ["linux"]`, `"platforms": ["plan9"]`}, {`"node": ">=20"`, `"ruby": "3"`},
		{`"type": "string"`, `"type": "text"`}, {`"title": "t", `, ``}, {`"default": "x"`, `"default": {}`},
		{`"16x16"`, `"large"`}, {`"text": "x", `, ``}, {`"license": "MIT"`, `"licence": "MIT"`},
		{`"https://example.com/p"`, `"p"`}, {`"tools_generated": true`, `"tools_generated": "yes"`},
		{`"manifest_version"`, `"dxt_version"`},
	} {
		text := strings.Replace(valid, change[0], change[1], 1)
		assert.Assert(t, json.Valid([]byte(text)), change)
		assert.Assert(t, i == 0 || text != valid, change)
		b.write("m/manifest.json", text)
		b.write("m/i.js", "")
		theirs := b.mcpb("validate", "m/manifest.json")
		ours := b.run(self, "bundle", "create", "m", "-o", "m.mcpb")
		assert.Equal(t, ours.code == 0, theirs.code == 0, "%s\n%v\n%v", change, ours, theirs)
		_ = os.Remove(filepath.Join(b.dir, "m.mcpb"))
	}
}
