package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/near"
)

// A format describes how an application writes servers: where they are in the file, and the meaning
// of members that differs between applications.
type format struct {
	keys             string // the path of keys to the servers, for messages
	locate           func(root value, workspace string) (value, bool)
	timeoutUnit      time.Duration // the unit of timeout
	startTimeout     bool          // timeout limits the start, not a call
	ambiguousTimeout bool          // applications that use the format differ in the unit of timeout
	braceVariables   bool          // variables may be written as {env:NAME}
	isNative         bool          // stdwire's own form: the file may contain profiles
	// extensions means that a server without a command and a URL belongs to an extension of the
	// application, and that command may be an object.
	extensions bool
	// toolsUnknown means that the member tools does not define which tools are allowed.
	toolsUnknown bool
}

// formats returns the formats in the order in which they are tried. The first that matches is used.
func formats() []format {
	return []format{
		{keys: "mcpServers", locate: memberNamed("mcpServers"), timeoutUnit: time.Millisecond,
			ambiguousTimeout: true, isNative: true},
		{keys: "servers", locate: memberNamed("servers"), timeoutUnit: time.Millisecond,
			ambiguousTimeout: true, isNative: true},
		// Zed
		{keys: "context_servers", locate: memberNamed("context_servers"), timeoutUnit: time.Second,
			extensions: true},
		// Codex
		{keys: "mcp_servers", locate: memberNamed("mcp_servers"), timeoutUnit: time.Millisecond,
			ambiguousTimeout: true, toolsUnknown: true},
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

// asMCPProxy returns the variant of a format that mcp-proxy uses. Its files have a member mcpProxy.
func (f format) asMCPProxy() format {
	// mcp-proxy encodes a time.Duration.
	f.timeoutUnit, f.ambiguousTimeout, f.isNative = time.Nanosecond, false, false
	return f
}

// memberNamed returns a function that finds the member with this name, even if it is not an object,
// so that findServers reports that.
func memberNamed(key string) func(value, string) (value, bool) {
	return func(root value, _ string) (value, bool) { return root.member(key) }
}

// settingsServers finds mcp.servers, unless it is a server with the name "servers".
func settingsServers(root value, _ string) (value, bool) {
	mcp, _ := root.member("mcp")
	servers, ok := mcp.member("servers")
	return servers, ok && servers.isObject() && !isServer(servers)
}

// opencode finds mcp if it is empty or contains a server.
func opencode(root value, _ string) (value, bool) {
	mcp, ok := root.member("mcp")
	members := mcp.members()
	return mcp, ok && mcp.isObject() &&
		(len(members) == 0 || slices.ContainsFunc(members, func(m member) bool {
			return isServer(m.value)
		}))
}

// claudeProject finds mcpServers of the workspace's project.
func claudeProject(root value, workspace string) (value, bool) {
	projects, _ := root.member("projects")
	own, ok := projects.member(workspace)
	if !ok { // on Windows Claude Code writes C:/repo; earlier versions write C:\repo
		own, _ = projects.member(filepath.ToSlash(workspace))
	}
	return own.member("mcpServers")
}

// wholeFile finds the root if all its members are servers.
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

// definesTransport reports whether a definition has a command or a URL.
func definesTransport(v value) bool {
	return slices.ContainsFunc(v.members(), func(m member) bool {
		return m.name == "command" || slices.Contains(urlNames, m.name)
	})
}

// A serverSection is the part of a file that defines servers.
type serverSection struct {
	format
	servers value
	parent  value // the object with inputs and the default timeout
}

// findServers finds the servers of a file. It returns false if the file has no member for servers,
// which is not an error.
func (r *reader) findServers(root value) (serverSection, bool) {
	if !root.isObject() {
		r.errorf(root.start, "the file must be an object, not %s", root.kind())
		return serverSection{}, false
	}
	var section *serverSection
	for _, f := range formats() {
		servers, ok := f.locate(root, r.Workspace)
		switch {
		case !ok:
		case section != nil && f.keys != "mcp" && f.keys != "the whole file":
			r.warnf(servers.start, "the servers under %s are not used: those under %s are", f.keys,
				section.keys)
		case section != nil: // these formats also match files of an earlier format
		case !servers.isObject():
			r.errorf(servers.start, "%s must be an object of servers by their ids, not %s", f.keys,
				servers.kind())
			return serverSection{}, false
		default:
			section = &serverSection{f, servers, root}
		}
	}
	if section == nil {
		r.warnNoServers(root)
		return serverSection{}, false
	}
	if section.keys == "mcp.servers" {
		section.parent, _ = root.member("mcp")
	}
	if _, ok := root.member("mcpProxy"); ok && section.keys == "mcpServers" {
		section.format = section.asMCPProxy()
	}
	return *section, true
}

// warnNoServers adds a warning if the file should have servers.
func (r *reader) warnNoServers(root value) {
	members := root.members()
	if r.sharedFile || len(members) == 0 {
		return
	}
	keys := "mcpServers, servers, context_servers, mcp.servers and mcp"
	if r.toml != nil {
		keys = "mcp_servers"
	}
	for _, m := range members {
		if m.name == "mcp" {
			continue // one of keys, without servers
		}
		if match := near.Match(m.name,
			[]string{"mcpServers", "servers", "context_servers", "mcp_servers"}); match != "" {
			r.warnf(m.offset,
				"the file has no servers under %s; %q is none of these: did you mean %s?", keys,
				m.name, match)
			return
		}
	}
	r.warnf(root.start, "%s",
		fmt.Sprintf("the file has no servers: there is nothing under %s", keys))
}
