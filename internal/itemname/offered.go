package itemname

import "strings"

// Offered returns the name by which a tool of a server is offered as public, without the server's
// ID: its own, unless something has replaced that.
func Offered(id, own, public string) string {
	if public == own || public == Public(id, own, len(public)) {
		return own
	}
	return strings.TrimPrefix(public, id+Separator)
}
