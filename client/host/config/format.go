package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/near"
)

// A format is how an application writes servers: where they are in the file, and what differs in
// meaning.
type format struct {
	keys         string // the path of keys to the servers, for messages
	locate       func(root value, workspace string) (value, bool)
	timeoutUnit  time.Duration // of "timeout"
	startTimeout bool          // timeout is for the start, not for calls
	// timeout may have another meaning: several applications use the format
	ambiguousTimeout bool
	braceVariables   bool // variables may be written as {env:NAME}
	// the file may have members that only stdwire knows beside the servers, such as profiles
	isNative bool
}

// formats returns the formats in the order in which they are tried. The first that matches is used.
func formats() []format {
	return []format{
		{keys: "mcpServers", locate: memberNamed("mcpServers"), timeoutUnit: time.Millisecond,
			ambiguousTimeout: true, isNative: true},
		{keys: "servers", locate: memberNamed("servers"), timeoutUnit: time.Millisecond,
			ambiguousTimeout: true, isNative: true},
		// Zed
		{keys: "context_servers", locate: memberNamed("context_servers"), timeoutUnit: time.Second},
		// opencode 2, VS Code before it had mcp.json
		{keys: "mcp.servers", locate: settingsServers, timeoutUnit: time.Millisecond,
			ambiguousTimeout: true, startTimeout: true, braceVariables: true},
		// opencode, Crush
		{keys: "mcp", locate: opencode, timeoutUnit: time.Millisecond, ambiguousTimeout: true,
			startTimeout: true, braceVariables: true},
		// ~/.claude.json
		{keys: "projects.DIRECTORY.mcpServers", locate: claudeProject,
			timeoutUnit: time.Millisecond, ambiguousTimeout: true},
		// .agents/mcp.json
		{keys: "the whole file", locate: wholeFile, timeoutUnit: time.Millisecond,
			ambiguousTimeout: true},
	}
}

// asMCPProxy returns the variant of a format that mcp-proxy uses, which a key beside the servers
// identifies.
func (f format) asMCPProxy() format {
	// it encodes a Go duration
	f.timeoutUnit, f.ambiguousTimeout, f.isNative = time.Nanosecond, false, false
	return f
}

// memberNamed returns a function that finds the member of that name. It also finds one that is not
// an object, so that this is reported.
func memberNamed(key string) func(value, string) (value, bool) {
	return func(root value, _ string) (value, bool) { return root.member(key) }
}

func settingsServers(root value, _ string) (value, bool) {
	mcp, _ := root.member("mcp")
	servers, ok := mcp.member("servers")
	return servers, ok && servers.isObject() && !isServer(servers)
}

func opencode(root value, _ string) (value, bool) {
	mcp, ok := root.member("mcp")
	members := mcp.members()
	return mcp, ok && mcp.isObject() &&
		(len(members) == 0 || slices.ContainsFunc(members, func(m member) bool {
			return isServer(m.value)
		}))
}

func claudeProject(root value, workspace string) (value, bool) {
	projects, _ := root.member("projects")
	own, ok := projects.member(workspace)
	if !ok { // Claude Code writes C:/repo on Windows, and wrote C:\repo
		own, _ = projects.member(filepath.ToSlash(workspace))
	}
	return own.member("mcpServers")
}

func wholeFile(root value, _ string) (value, bool) {
	found := false
	for _, m := range root.members() {
		switch {
		case isServer(m.value):
			found = true
		case !strings.HasPrefix(m.name, "$"): // $schema
			return value{}, false
		}
	}
	return root, found
}

// isServer reports whether a value looks like the definition of a server.
func isServer(v value) bool {
	return slices.ContainsFunc(v.members(), func(m member) bool {
		return m.name == "command" && !m.isObject() || slices.Contains(urlNames, m.name) &&
			!m.isObject()
	})
}

// A serverSection is the part of a file that defines servers.
type serverSection struct {
	format
	servers value
	parent  value // the object with inputs, profiles and the default timeout
}

// findServers finds the servers of a file. It returns false if there are none, which is not an
// error.
func (r *reader) findServers(root value) (serverSection, bool) {
	if !root.isObject() {
		r.errorf(root.start, "the file wants to be an object, and is %s", root.kind())
		return serverSection{}, false
	}
	var f *serverSection
	for _, s := range formats() {
		servers, ok := s.locate(root, r.Workspace)
		switch {
		case !ok:
		case f != nil && s.keys != "mcp" && s.keys != "the whole file":
			// where they are nested, both match
			r.warnf(servers.start, "the servers under %s are not used: those under %s are", s.keys,
				f.keys)
		case f != nil:
		case !servers.isObject():
			r.errorf(servers.start, "%s wants an object of servers by their ids, and is %s", s.keys,
				servers.kind())
			return serverSection{}, false
		default:
			f = &serverSection{s, servers, root}
		}
	}
	if f == nil {
		r.warnNoServers(root)
		return serverSection{}, false
	}
	if f.keys == "mcp.servers" {
		f.parent, _ = root.member("mcp")
	}
	if _, ok := root.member("mcpProxy"); ok && f.keys == "mcpServers" {
		f.format = f.asMCPProxy()
	}
	return *f, true
}

// warnNoServers adds a warning if the file should have servers.
func (r *reader) warnNoServers(root value) {
	members := root.members()
	if r.sharedFile || len(members) == 0 {
		return
	}
	const keys = "mcpServers, servers, context_servers, mcp.servers and mcp"
	for _, m := range members {
		if m.name == "mcp" {
			continue // which is one of them, and has none in it
		}
		if match := near.Match(m.name,
			[]string{"mcpServers", "servers", "context_servers"}); match != "" {
			r.warnf(m.offset,
				"the file has no servers under %s; %q is none of these: did you mean %s?", keys,
				m.name, match)
			return
		}
	}
	r.warnf(root.start, "%s",
		fmt.Sprintf("the file has no servers: there is nothing under %s", keys))
}
