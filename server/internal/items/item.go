// Package items holds the items of a server's lists, and makes pages of them.
package items

import (
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// An Item is an element of a list: what lists know of it. A type that embeds Item adds what else
// the server knows, and has its method Base.
type Item struct {
	Kind        mcp.Kind
	Key         string // unique in the list
	Definition  []byte // its JSON in lists
	Legacy      []byte // the same for revisions before 2026-07-28; nil: not listed there
	SessionOnly bool   // not listed for requests without a session
	Extension   string // the extension that the client must have negotiated; "" for none
	// Tasks says whether calls of a tool may be tasks. Of a tool with several operations, only a
	// call shows it.
	Tasks mcp.TaskSupport
}

// New returns an item whose definition is the same in both eras.
func New(kind mcp.Kind, key string, definition []byte) Item {
	return Item{Kind: kind, Key: key, Definition: definition, Legacy: definition}
}

// Base returns the item.
func (i *Item) Base() *Item { return i }

// IsTask reports whether a call may be a task.
func IsTask(s mcp.TaskSupport) bool { return s == mcp.TaskOptional || s == mcp.TaskRequired }

// executionStart begins what clients with the experimental tasks of 2025-11-25 get of a tool.
const executionStart = `,"execution":{"taskSupport":"`

// size returns about how many bytes appendDefinition appends.
func (i *Item) size() int {
	if IsTask(i.Tasks) {
		return len(i.Definition) + len(executionStart) + 16
	}
	return len(i.Definition)
}

// appendDefinition appends the JSON of the item in lists for an era, without keys of its _meta.
func (i *Item) appendDefinition(dst []byte, e *era.Era, hiddenMeta []string) []byte {
	definition := i.Definition
	if !e.Modern {
		definition = i.Legacy
	}
	if len(hiddenMeta) > 0 {
		definition = withoutMeta(definition, hiddenMeta)
	}
	if e.Modern || !IsTask(i.Tasks) || !e.ExperimentalTasks() {
		return append(dst, definition...)
	}
	dst = append(dst, definition[:len(definition)-1]...)
	return append(append(append(dst, executionStart...), i.Tasks...), `"}}`...)
}
