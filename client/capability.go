package client

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A capability is a feature that a server may declare.
type capability struct {
	name string
	in   func(*session) bool
}

// extensionCapability returns the capability for the declaration of an extension by a server.
func extensionCapability(id string) capability {
	return capability{"extensions." + id, func(s *session) bool {
		settings := s.capabilities.Extensions[id]
		return len(settings) > 0 && settings[0] == '{'
	}}
}

var (
	resourcesCapability = capability{mcp.KindResource.Info().Capability,
		func(s *session) bool { return s.capabilities.Resources != nil }}
	subscribeCapability = capability{"resources.subscribe", func(s *session) bool {
		return s.capabilities.Resources != nil && s.capabilities.Resources.Subscribe
	}}
	promptsCapability = capability{mcp.KindPrompt.Info().Capability,
		func(s *session) bool { return s.capabilities.Prompts != nil }}
	// Before 2025-03-26, servers supported completion without declaring it.
	completionsCapability = capability{"completions", func(s *session) bool {
		return s.capabilities.Completions != nil || !s.features.Completions
	}}

	skillsCapability    = extensionCapability(mcp.ExtensionSkills)
	directoryCapability = capability{"extensions." + mcp.ExtensionSkills + ".directoryRead",
		func(s *session) bool {
			return string(jsonscan.Member(s.capabilities.Extensions[mcp.ExtensionSkills],
				"directoryRead")) == "true"
		}}

	// in legacy revisions tasks are no extension
	tasksExtension = capability{"extensions." + mcp.ExtensionTasks, func(s *session) bool {
		return s.features.Extensions && extensionCapability(mcp.ExtensionTasks).in(s)
	}}
	tasksCapability = capability{"tasks", func(s *session) bool {
		return s.features.ExperimentalTasks && s.capabilities.Tasks != nil
	}}
	taskListCapability = capability{"tasks.list", func(s *session) bool {
		return tasksCapability.in(s) && s.capabilities.Tasks.List != nil
	}}
	taskCancelCapability = capability{"tasks.cancel", func(s *session) bool {
		return tasksCapability.in(s) && s.capabilities.Tasks.Cancel != nil
	}}
)

// listCapabilities are the capabilities without which a list is not requested. Tools are requested
// from every server. It is read only.
var listCapabilities = map[mcp.Kind]capability{
	mcp.KindTool:     {in: func(*session) bool { return true }},
	mcp.KindResource: resourcesCapability, mcp.KindResourceTemplate: resourcesCapability,
	mcp.KindPrompt: promptsCapability, mcp.KindSkill: skillsCapability,
}

// toolTasks reports whether the server runs tools as tasks on request (2025-11-25).
func (s *session) toolTasks() bool {
	t := s.capabilities.Tasks
	return s.features.ExperimentalTasks && t != nil && jsonscan.Member(t.Requests["tools"], "call") != nil
}

// require returns nil, or the error of a call that needs a capability that the server does not
// declare.
func (c *Client) require(needed capability, method, name string) error {
	if needed.in(c.session.Load()) {
		return nil
	}
	return &CallError{Server: c.o.Name, Method: method, Name: name,
		Err: &undeclaredError{needed.name}}
}
