package web

import (
	"github.com/stdwire/stdwire/internal/jsondiff"
)

// diff returns the differences of two messages.
func (t *traffic) diff(before, after int64) ([]diffLine, error) {
	a, err := t.message(before)
	if err != nil {
		return nil, err
	}
	b, err := t.message(after)
	if err != nil {
		return nil, err
	}
	return append([]diffLine{}, newDiff(jsondiff.Diff(a.record.Frame, b.record.Frame))...), nil
}
