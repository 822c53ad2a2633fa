package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/near"
)

// A format describes how an application writes servers: where they are in the file, and the meaning
// of members that differs between applications.
type format struct {
	keys             string // the path of keys to the servers, for messages
	locate           func(root jsonedit.Value, workspace string) (jsonedit.Value, bool)
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
func memberNamed(key string) func(jsonedit.Value, string) (jsonedit.Value, bool) {
	return func(root jsonedit.Value, _ string) (jsonedit.Value, bool) { return root.Member(key) }
}

// settingsServers finds mcp.servers, unless it is a server with the name "servers".
func settingsServers(root jsonedit.Value, _ string) (jsonedit.Value, bool) {
	mcp, _ := root.Member("mcp")
	servers, ok := mcp.Member("servers")
	return servers, ok && servers.IsObject() && !isServer(servers)
}

// opencode finds mcp if it is empty or contains a server.
func opencode(root jsonedit.Value, _ string) (jsonedit.Value, bool) {
	mcp, ok := root.Member("mcp")
	members := mcp.Members()
	return mcp, ok && mcp.IsObject() &&
		(len(members) == 0 || slices.ContainsFunc(members, func(m jsonedit.Member) bool {
			return isServer(m.Value)
		}))
}

// claudeProject finds mcpServers of the workspace's project.
func claudeProject(root jsonedit.Value, workspace string) (jsonedit.Value, bool) {
	projects, _ := root.Member("projects")
	own, ok := projects.Member(workspace)
	if !ok { // on Windows Claude Code writes C:/repo; earlier versions write C:\repo
		own, _ = projects.Member(filepath.ToSlash(workspace))
	}
	return own.Member("mcpServers")
}

// wholeFile finds the root if all its members are servers.
func wholeFile(root jsonedit.Value, _ string) (jsonedit.Value, bool) {
	found := false
	for _, m := range root.Members() {
		switch {
		case isServer(m.Value):
			found = true
		case !strings.HasPrefix(m.Name, "$"): // $schema
			return jsonedit.Value{}, false
		}
	}
	return root, found
}

// isServer reports whether a value looks like the definition of a server.
func isServer(v jsonedit.Value) bool {
	return slices.ContainsFunc(v.Members(), func(m jsonedit.Member) bool {
		return m.Name == "command" && !m.IsObject() || slices.Contains(urlNames, m.Name) &&
			!m.IsObject()
	})
}

// definesTransport reports whether a definition has a command or a URL.
func definesTransport(v jsonedit.Value) bool {
	return slices.ContainsFunc(v.Members(), func(m jsonedit.Member) bool {
		return m.Name == "command" || slices.Contains(urlNames, m.Name)
	})
}

// A serverSection is the part of a file that defines servers.
type serverSection struct {
	format
	servers jsonedit.Value
	parent  jsonedit.Value // the object with inputs and the default timeout
}

// findServers finds the servers of a file. It returns false if the file has no member for servers,
// which is not an error.
func (r *reader) findServers(root jsonedit.Value) (serverSection, bool) {
	if !root.IsObject() {
		r.errorf(root.Start, "the file must be an object, not %s", root.TypeName())
		return serverSection{}, false
	}
	var section *serverSection
	for _, f := range formats() {
		servers, ok := f.locate(root, r.Workspace)
		switch {
		case !ok:
		case section != nil && f.keys != "mcp" && f.keys != "the whole file":
			r.warnf(servers.Start, "the servers under %s are not used: those under %s are", f.keys,
				section.keys)
		case section != nil: // these formats also match files of an earlier format
		case !servers.IsObject():
			r.errorf(servers.Start, "%s must be an object of servers by their ids, not %s", f.keys,
				servers.TypeName())
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
		section.parent, _ = root.Member("mcp")
	}
	if _, ok := root.Member("mcpProxy"); ok && section.keys == "mcpServers" {
		section.format = section.asMCPProxy()
	}
	return *section, true
}

// warnNoServers adds a warning if the file should have servers.
func (r *reader) warnNoServers(root jsonedit.Value) {
	members := root.Members()
	if r.sharedFile || len(members) == 0 {
		return
	}
	keys := "mcpServers, servers, context_servers, mcp.servers and mcp"
	if r.TOML != nil {
		keys = "mcp_servers"
	}
	for _, m := range members {
		if m.Name == "mcp" {
			continue // one of keys, without servers
		}
		if match := near.Match(m.Name,
			[]string{"mcpServers", "servers", "context_servers", "mcp_servers"}); match != "" {
			r.warnf(m.Offset,
				"the file has no servers under %s; %q is none of these: did you mean %s?", keys,
				m.Name, match)
			return
		}
	}
	r.warnf(root.Start, "%s",
		fmt.Sprintf("the file has no servers: there is nothing under %s", keys))
}
