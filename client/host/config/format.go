package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
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

var (
	urlNames         = []string{"url", "serverUrl", "httpUrl"}
	transportMembers = []string{"type", "transport", "transportType"}
)

// A transport is the value of the member type; 0 if it is absent.
type transport uint8

const (
	stdioTransport transport = iota + 1
	httpTransport
)

// transportNames are the known values of type, in lower case and without separators.
var transportNames = map[string]transport{
	"stdio": stdioTransport, "local": stdioTransport,
	// The client detects HTTP+SSE.
	"http": httpTransport, "streamablehttp": httpTransport, "remote": httpTransport,
	"sse": httpTransport,
}
