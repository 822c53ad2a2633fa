package config

import (
	"bytes"
	"slices"
	"strings"
)

// remove removes a member of an object. Comments outside of it stay.
func (e *editor) remove(object value, name string) {
	members := object.members()
	i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
	m, closing := members[i], object.end-1
	isLast := i == len(members)-1
	limit := closing
	if !isLast {
		limit = members[i+1].offset
	}
	start := m.offset
	for start > object.start+1 && strings.IndexByte(" \t\r\n", e.raw[start-1]) >= 0 {
		start--
	}
	end := m.end
	comma := e.comma(m.end, limit)
	lineEnd := limit
	if i := bytes.IndexByte(e.raw[end:limit], '\n'); i >= 0 {
		lineEnd = end + i
	}
	if len(bytes.Trim(e.raw[end:lineEnd], ", \t\r")) > 0 ||
		lineEnd == limit && !isLast && bytes.ContainsRune(e.raw[start:m.offset], '\n') {
		start = m.offset // the rest of the line keeps its place
	}
	switch {
	case comma == end:
		end++
		if start == object.start+1 && !bytes.ContainsRune(e.raw[start:m.offset], '\n') {
			for end < limit && (e.raw[end] == ' ' || e.raw[end] == '\t') {
				end++ // on one line, the next member takes the place
			}
		}
	case comma >= 0:
		e.edits = append(e.edits, edit{comma, comma + 1, nil})
	case isLast && i > 0:
		before := members[i-1].end
		comma = e.comma(before, m.offset)
		e.edits = append(e.edits, edit{comma, comma + 1, nil})
		start = max(start, comma+1)
	}
	if len(members) == 1 && len(bytes.Trim(e.raw[end:closing], " \t\r\n")) == 0 &&
		start == object.start+1 && comma < 0 {
		end = closing // nothing is left
	}
	e.edits = append(e.edits, edit{start, end, nil})
}
