package jsonedit

import (
	"bytes"
	"slices"
	"strings"
)

// Remove removes a member of an object. Comments outside of it stay.
func (e *Editor) Remove(object Value, name string) {
	members := object.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return m.Name == name })
	m, closing := members[i], object.End-1
	isLast := i == len(members)-1
	limit := closing
	if !isLast {
		limit = members[i+1].Offset
	}
	from := object.Start + 1
	if i > 0 {
		from = members[i-1].End
	}
	start := m.Offset
	for start > object.Start+1 && strings.IndexByte(" \t\r\n", e.raw[start-1]) >= 0 {
		start--
	}
	end := m.End
	comma := e.comma(m.End, limit)
	lineEnd := limit
	if i := bytes.IndexByte(e.raw[end:limit], '\n'); i >= 0 {
		lineEnd = end + i
	}
	if len(bytes.Trim(e.raw[end:lineEnd], ", \t\r")) > 0 ||
		lineEnd == limit && !isLast && bytes.ContainsRune(e.raw[start:m.Offset], '\n') {
		start = m.Offset // the rest of the line keeps its place
	} else if lineEnd == limit && len(bytes.Trim(e.raw[from:start], ", \t\r\n")) > 0 {
		// The line end may be that of a comment, in which the closing brace would be hidden.
		start += bytes.IndexByte(e.raw[start:m.Offset], '\n') + 1
	}
	switch {
	case comma == end:
		end++
		if start == object.Start+1 && !bytes.ContainsRune(e.raw[start:m.Offset], '\n') {
			for end < limit && (e.raw[end] == ' ' || e.raw[end] == '\t') {
				end++ // on one line, the next member takes the place
			}
		}
	case comma >= 0:
		e.Edits = append(e.Edits, Edit{comma, comma + 1, nil})
	case isLast && i > 0:
		before := members[i-1].End
		comma = e.comma(before, m.Offset)
		e.Edits = append(e.Edits, Edit{comma, comma + 1, nil})
		start = max(start, comma+1)
	}
	if len(members) == 1 && len(bytes.Trim(e.raw[end:closing], " \t\r\n")) == 0 &&
		start == object.Start+1 && comma < 0 {
		end = closing // nothing is left
	}
	e.Edits = append(e.Edits, Edit{start, end, nil})
}
