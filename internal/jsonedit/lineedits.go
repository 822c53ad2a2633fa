package jsonedit

import (
	"bytes"
	"slices"
)

// maxLines is the greatest number of lines that are compared one by one.
const maxLines = 1000

// LineEdits returns edits of whole lines that change before to after.
func LineEdits(before, after []byte) (edits []Edit) {
	a, b := slices.Collect(bytes.Lines(before)), slices.Collect(bytes.Lines(after))
	start := 0
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		start += len(a[0])
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > maxLines || len(b) > maxLines {
		return []Edit{{start, start + len(bytes.Join(a, nil)), bytes.Join(b, nil)}}
	}
	// common[i][j] is the number of lines that a[i:] and b[j:] have in common
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); bytes.Equal(a[i], b[j]) {
				common[i][j] = 1 + common[i+1][j+1]
			}
		}
	}
	var now *Edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && bytes.Equal(a[i], b[j]) {
			start += len(a[i])
			i, j, now = i+1, j+1, nil
			continue
		}
		if now == nil {
			edits = append(edits, Edit{Start: start, End: start})
			now = &edits[len(edits)-1]
		}
		if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
			start += len(a[i])
			now.End = start
			i++
		} else {
			now.Text = append(now.Text, b[j]...)
			j++
		}
	}
	return edits
}
