// Package hosts knows what applications and APIs do with the tools of MCP servers: which names and
// texts they take, and what they cut or leave out. Each row says where that is known from, and of
// when; what is not known is no limit.
package hosts

import (
	"slices"
	"strings"
)

// A Host is an application that shows the tools of servers to a model, or the API of a model. Of
// its limits, 0 is none known.
type Host struct {
	ID    string // such as claude-code
	Title string

	// Clients are the names that its clients have in clientInfo. One that ends with '*' is the
	// beginning of names. An API has none.
	Clients []string

	// Prefix is what the host puts before the name of a tool, with SERVER for the name that the
	// server has there.
	Prefix  string
	MaxName int    // characters of a name with its prefix
	NameCut string // what happens to a longer name
	NoDots  bool   // names have letters, digits, '_' and '-' only; others may have '.' too

	MaxTools int    // of all servers together
	ToolsCut string // what happens to more tools

	MaxDescription  int // characters of the description of a tool
	MaxInstructions int // characters of the instructions of a server
	MaxResult       int // characters of the text of a result

	// Searches is whether the host itself shows a model only the tools that it looks for.
	Searches bool

	Source string // where this is known from, and what of it is uncertain
	Date   string // of the source: year and month
}

// IDs returns the IDs of all hosts.
func IDs() (ids []string) {
	for _, h := range table {
		ids = append(ids, h.ID)
	}
	return ids
}

// ByID returns the host with an ID.
func ByID(id string) (Host, bool) {
	return find(func(h Host) bool { return h.ID == id })
}

// Of returns the host of a client, by the name in its clientInfo; upper and lower case are the
// same. A client may state any name: what depends on it must be a matter of form only.
func Of(clientName string) (Host, bool) {
	return find(func(h Host) bool {
		return slices.ContainsFunc(h.Clients, func(pattern string) bool {
			beginning, isBeginning := strings.CutSuffix(pattern, "*")
			if isBeginning && len(clientName) >= len(beginning) {
				return strings.EqualFold(clientName[:len(beginning)], beginning)
			}
			return strings.EqualFold(clientName, pattern)
		})
	})
}

// Takes reports whether the names of tools may have a character.
func (h Host) Takes(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
		c == '-' || c == '.' && !h.NoDots
}

// bytesPerToken is an estimate. Models differ, and so do texts: JSON in English has 3 to 5.
const bytesPerToken = 4

// Tokens estimates how many tokens of a model a text of so many bytes is.
func Tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// Bytes is the inverse of [Tokens].
func Bytes(tokens int) int { return tokens * bytesPerToken }

func find(is func(Host) bool) (Host, bool) {
	if i := slices.IndexFunc(table, is); i >= 0 {
		return table[i], true
	}
	return Host{}, false
}

// NamePrefix returns what the host puts before the names of the tools of a server.
func (h Host) NamePrefix(server string) string {
	return strings.ReplaceAll(h.Prefix, "SERVER", server)
}

// MaxToolName returns how long the names of the tools of a server may be, without the prefix; 0: no
// known limit.
func (h Host) MaxToolName(server string) int {
	if h.MaxName == 0 {
		return 0
	}
	return max(h.MaxName-len(h.NamePrefix(server)), 1)
}
