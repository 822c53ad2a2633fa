package mcp

import (
	"encoding/json"
	"iter"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Kind is a kind of item that servers offer. Its text is the name of such an item in messages,
// logs and pins; an "s" makes it the plural. A program may have kinds of its own.
type Kind string

const (
	KindTool             Kind = "tool"
	KindPrompt           Kind = "prompt"
	KindResource         Kind = "resource"
	KindResourceTemplate Kind = "resource template"
	KindApp              Kind = "app" // the page of a tool, a resource that servers need not list
	KindSkill            Kind = "skill"
)

// A KindInfo is what differs between the kinds.
type KindInfo struct {
	Kind Kind
	// Short is the name in commands and findings: "template" for [KindResourceTemplate], otherwise
	// that of the kind.
	Short string
	// ListMethod is the method that lists the items, such as "tools/list", or "" if there is none.
	ListMethod string
	// ListMember is the member of the result of ListMethod that is the list, such as "tools".
	ListMember string
	// ListChanged is the notification about a change of the list. Resource templates and skills
	// share that of resources.
	ListChanged string
	// Capability is what a server declares if it has such items: a member of its capabilities, or
	// "extensions." and the ID of an extension. Resource templates share that of resources.
	Capability string
	// Key is the member of a definition that identifies the item: name, uri or uriTemplate.
	Key string
}

// kindTable has a row for each kind. It is read only.
var kindTable = [...]KindInfo{
	{KindTool, "tool", MethodListTools, "tools", NotificationToolListChanged, "tools", "name"},
	{KindPrompt, "prompt", MethodListPrompts, "prompts", NotificationPromptListChanged, "prompts",
		"name"},
	{KindResource, "resource", MethodListResources, "resources", NotificationResourceListChanged,
		"resources", "uri"},
	{KindResourceTemplate, "template", MethodListResourceTemplates, "resourceTemplates",
		NotificationResourceListChanged, "resources", "uriTemplate"},
	{KindApp, "app", "", "", "", "extensions." + ExtensionApps, "uri"},
	{KindSkill, "skill", MethodListSkills, "skills", NotificationResourceListChanged,
		"extensions." + ExtensionSkills, "uri"},
}

// Info returns what differs between the kinds. For a kind that a program has made itself, only its
// names are set.
func (k Kind) Info() KindInfo {
	for i := range kindTable {
		if kindTable[i].Kind == k {
			return kindTable[i]
		}
	}
	return KindInfo{Kind: k, Short: string(k)}
}

// Kinds yields all kinds, always in the same order.
func Kinds() iter.Seq[Kind] {
	return func(yield func(Kind) bool) {
		for i := range kindTable {
			if !yield(kindTable[i].Kind) {
				return
			}
		}
	}
}

// KeyOf returns the member [KindInfo].Key of a definition, or "" if it is missing or not a string.
func (k Kind) KeyOf(definition json.RawMessage) string {
	key, _ := jsonscan.Text(jsonscan.Member(definition, k.Info().Key))
	return key
}
