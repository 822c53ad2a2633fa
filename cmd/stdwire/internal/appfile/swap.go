package appfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

// Swap returns the change of the file that swaps two servers. Each server moves with the comments
// above it and after it on its last line; the rest stays unchanged. The error matches
// [ErrNotInstalled], or says why the file cannot be read or changed.
func (f *File) Swap(id, other string) (*Change, error) {
	a, err := f.definition(id)
	if err != nil {
		return nil, err
	}
	b, err := f.definition(other)
	if err != nil {
		return nil, err
	}
	application, t := f.application(), f.text
	keys := append(application.serverKeys(t), a.Name)
	if a.Offset == b.Offset {
		return &Change{Before: t.Raw, After: t.Raw, File: t.Name, keys: keys}, nil
	}
	var edits []jsonedit.Edit
	if t.TOML != nil {
		edits, err = t.SwapTables(keys[:len(keys)-1], a, b)
	} else {
		edits = f.servers().Swap(a.Name, b.Name)
	}
	if err != nil {
		return nil, err
	}
	start, end := edits[0].Start, edits[len(edits)-1].End
	var swapped []byte
	for i, e := range edits {
		swapped = append(swapped, e.Text...)
		if i+1 < len(edits) {
			swapped = append(swapped, t.Raw[e.End:edits[i+1].Start]...)
		}
	}
	after := slices.Concat(t.Raw[:start], swapped, t.Raw[end:])
	// the edit covers whole lines, unless they contain something else
	line := bytes.LastIndexByte(t.Raw[:start], '\n') + 1
	if len(bytes.TrimLeft(t.Raw[line:start], " \t")) == 0 {
		start = line
	}
	if i := bytes.IndexByte(t.Raw[end:], '\n'); i >= 0 &&
		len(bytes.TrimRight(t.Raw[end:end+i], "\r")) == 0 {
		end += i + 1
	}
	changed := jsonedit.LineEdits(t.Raw[start:end], after[start:len(after)-len(t.Raw)+end])
	for i := range changed {
		changed[i].Start, changed[i].End = changed[i].Start+start, changed[i].End+start
	}
	c := &Change{Before: t.Raw, After: after, File: t.Name, edits: changed, keys: keys}
	if err := application.verifySwap(t, c, a.Name, b.Name); err != nil {
		return nil, fmt.Errorf("%s cannot be changed without breaking it: %w; change it by hand",
			t.Name, err)
	}
	return c, nil
}

// verifySwap returns an error unless a change swaps two servers and does nothing else.
func (a Application) verifySwap(t *jsonedit.Text, c *Change, name, other string) error {
	after, err := parseText(t.Name, c.After)
	if err != nil {
		return err
	}
	was, _, err := a.servers(t)
	if err != nil {
		return err
	}
	is, missing, err := a.servers(after)
	if err != nil || missing != nil {
		return errors.Join(err, errors.New("the servers would not be found"))
	}
	swapped := map[string]string{name: other, other: name}
	before, now := was.Members(), is.Members()
	definitions := map[string][]byte{}
	for _, m := range before {
		definitions[m.Name] = m.JSON()
	}
	changed := false
	for i, m := range before {
		wanted := cmp.Or(swapped[m.Name], m.Name)
		if len(now) != len(before) || now[i].Name != wanted {
			return errors.New("the order would be another one")
		}
		changed = changed || !jsonedit.Equal(definitions[wanted], now[i].JSON())
	}
	keys := a.serverKeys(t)
	if changed || len(keys) > 0 && !bytes.Equal(t.Without(keys), after.Without(keys)) {
		return errors.New("something else would change")
	}
	return nil
}
