package mcp

import (
	"cmp"
	"encoding/json"
	"iter"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Kind is a kind of item that servers offer. Its text is the name of such an item in messages,
// logs and pins; an "s" makes it the plural. A program may have kinds of its own: for them, all
// methods but Short return "".
type Kind string

const (
	KindTool             Kind = "tool"
	KindPrompt           Kind = "prompt"
	KindResource         Kind = "resource"
	KindResourceTemplate Kind = "resource template"
	KindApp              Kind = "app" // the page of a tool, a resource that servers need not list
	KindSkill            Kind = "skill"
)

// A kindRow is what differs between the kinds.
type kindRow struct {
	kind                   Kind
	short                  string // "" for the text
	method, member, change string // of the list; "" if no method lists the kind
	capability             string
	key                    string
}

// kindTable has a row for each kind. It is read only.
var kindTable = [...]kindRow{
	{KindTool, "", MethodListTools, "tools", NotificationToolListChanged, "tools", "name"},
	{KindPrompt, "", MethodListPrompts, "prompts", NotificationPromptListChanged, "prompts",
		"name"},
	{KindResource, "", MethodListResources, "resources", NotificationResourceListChanged,
		"resources", "uri"},
	{KindResourceTemplate, "template", MethodListResourceTemplates, "resourceTemplates",
		NotificationResourceListChanged, "resources", "uriTemplate"},
	{KindApp, "", "", "", "", "extensions." + ExtensionApps, "uri"},
	{KindSkill, "", MethodListSkills, "skills", NotificationResourceListChanged,
		"extensions." + ExtensionSkills, "uri"},
}

func (k Kind) row() *kindRow {
	for i := range kindTable {
		if kindTable[i].kind == k {
			return &kindTable[i]
		}
	}
	return &kindRow{}
}

// Kinds yields all kinds, always in the same order.
func Kinds() iter.Seq[Kind] {
	return func(yield func(Kind) bool) {
		for i := range kindTable {
			if !yield(kindTable[i].kind) {
				return
			}
		}
	}
}

// Short returns the name in commands and findings: "template" for [KindResourceTemplate], otherwise
// the text.
func (k Kind) Short() string { return cmp.Or(k.row().short, string(k)) }

// ListMethod returns the method that lists the items, such as "tools/list", or "" if there is none.
func (k Kind) ListMethod() string { return k.row().method }

// ListMember returns the member of the result of ListMethod that is the list, such as "tools".
func (k Kind) ListMember() string { return k.row().member }

// ListChanged returns the notification about a change of the list. Resource templates and skills
// share that of resources.
func (k Kind) ListChanged() string { return k.row().change }

// Capability returns what a server declares if it has such items: a member of its capabilities, or
// "extensions." and the ID of an extension. Resource templates share that of resources.
func (k Kind) Capability() string { return k.row().capability }

// Key returns the member of a definition that identifies the item: name, uri or uriTemplate.
func (k Kind) Key() string { return k.row().key }

// KeyOf returns the member Key of a definition, or "" if it is missing or not a string.
func (k Kind) KeyOf(definition json.RawMessage) string {
	key, _ := jsonscan.Text(jsonscan.Member(definition, k.Key()))
	return key
}
