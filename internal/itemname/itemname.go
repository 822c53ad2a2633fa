// Package itemname makes the names under which a host or gateway offers the tools and prompts of
// many servers.
package itemname

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// Separator joins the ID of a server and a name. Names are never split at it: a gateway looks
	// them up in a table.
	Separator = "__"
	// hashDigits is the number of digits that distinguish truncated names.
	hashDigits = 6
)

// Public returns the name of a server's tool or prompt with the server's ID, such as
// "files__read". Characters that are not letters, digits, '_', '-' or '.' become '_'. A name longer
// than maxLen is truncated and ends with '_' and six hexadecimal digits of a digest, so that names
// with the same beginning differ. The result depends on the arguments only.
func Public(id, name string, maxLen int) string {
	return truncateName(sanitizeName(id+Separator+name), id+Separator+name, maxLen)
}

// sanitizeName replaces characters that are not letters, digits, '_', '-' or '.' by '_'.
func sanitizeName(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
			c == '-' || c == '.' {
			return c
		}
		return '_'
	}, name)
}

// truncateName returns name if it has at most maxLen bytes. Otherwise it truncates it and appends
// digits of the digest of hashed.
func truncateName(name, hashed string, maxLen int) string {
	if len(name) <= maxLen {
		return name
	}
	return appendDigest(name, hashed, maxLen)
}

// appendDigest appends digits of the digest of hashed to a name, and truncates it so that the
// result has at most maxLen bytes.
func appendDigest(name, hashed string, maxLen int) string {
	sum := sha256.Sum256([]byte(hashed))
	return name[:max(0, min(len(name), maxLen-hashDigits-1))] + "_" +
		hex.EncodeToString(sum[:])[:hashDigits]
}

// Publics returns the public names of the tools, or of the prompts, of one server by its own
// names. They are those of [Public], unless that is the same for several: then it belongs to
// the one whose own name is valid as it is, or to none, and the others end with a digest, as
// truncated names do. The order of names does not matter.
func Publics(id string, names []string, maxLen int) map[string]string {
	return distinguish(names, maxLen,
		func(name string) string { return Public(id, name, maxLen) },
		func(public string) string { return public },
		func(name string) string { return id + Separator + name })
}

// Fitting returns names of at most maxLen bytes for hosts that do not accept longer ones, by name:
// letters, digits, '_', '-' and, with dots, '.'. A name that fits is its own.
func Fitting(names []string, maxLen int, dots bool) map[string]string {
	return distinguish(names, maxLen,
		func(name string) string {
			fitting := sanitizeName(name)
			if !dots {
				fitting = strings.ReplaceAll(fitting, ".", "_")
			}
			return truncateName(fitting, name, maxLen)
		},
		func(fitting string) string { return fitting },
		func(name string) string { return name })
}

// Operations is like [Publics] for the names of [Operation], of which two are the same
// if they differ only in '.' and '_'.
func Operations(id string, names []string) map[string]string {
	return distinguish(names, maxOperationName,
		func(name string) string { return Operation(id, name) },
		func(public string) string { return strings.ReplaceAll(public, ".", "_") },
		func(name string) string { return Service(id) + "." + name })
}

// distinguish returns the public names of own names. Two names with the same key would be the same.
// valid returns the public name of an own name that is valid as it is.
func distinguish(names []string, maxLen int,
	public, key, valid func(string) string) map[string]string {
	all := make(map[string]string, len(names))
	owners := make(map[string][]string, len(names)) // own names by key
	for _, name := range names {
		all[name] = public(name)
		owners[key(all[name])] = append(owners[key(all[name])], name)
	}
	for _, some := range owners {
		if len(some) == 1 {
			continue
		}
		slices.Sort(some)
		keeps := slices.IndexFunc(some,
			func(name string) bool { return all[name] == valid(name) })
		for i, name := range some {
			if i != keeps {
				all[name] = appendDigest(all[name], valid(name), maxLen)
			}
		}
	}
	return all
}

// The maximum lengths of the names of operations and tools.
const (
	maxOperationName = 128
	maxToolName      = 128
)

// Service returns the name of a server as a service of a catalog: its ID with '_' for '.'.
func Service(id string) string { return strings.ReplaceAll(id, ".", "_") }

// Operation returns the name of a tool as an operation of a catalog, such as "files.read". The
// part before the first dot is the [Service]. Characters that are not letters, digits, '_', '-'
// or '.' become '_', and so do all dots of a tool's name that begins or ends with a dot or contains
// two consecutive dots. A name of more than 128 bytes is truncated as by [Public].
func Operation(id, name string) string {
	action := sanitizeName(name)
	if slices.Contains(strings.Split(action, "."), "") {
		action = cmp.Or(strings.ReplaceAll(action, ".", "_"), "_")
	}
	return truncateName(Service(id)+"."+action, id+Separator+name, maxOperationName)
}

// IsToolName reports whether name has 1 to 128 letters, digits, '_', '-' and '.', as the names of
// tools should (MCP 2026-07-28, Tools, "Tool Names").
func IsToolName(name string) bool {
	return name != "" && len(name) <= maxToolName && sanitizeName(name) == name
}
