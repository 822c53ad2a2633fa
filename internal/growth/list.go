package growth

import (
	"strconv"
	"strings"
)

// List returns n copies of format with commas between them, such as the members of a JSON object.
// In each, * is replaced by the number of the copy, from 0.
func List(n int, format string) string {
	copies := make([]string, n)
	for i := range copies {
		copies[i] = strings.ReplaceAll(format, "*", strconv.Itoa(i))
	}
	return strings.Join(copies, ",")
}
