package jsonedit

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Rewrite makes an object equal to want, member by member. If a member must be removed, Rewrite
// only removes that member, discards all other edits, and returns true.
func (e *Editor) Rewrite(v Value, want []byte) (removing bool) {
	wanted := map[string][]byte{}
	for name, value := range jsonscan.Named(want) {
		wanted[name] = value
	}
	has := map[string]bool{}
	for _, m := range v.Members() {
		if _, ok := wanted[m.Name]; !ok || has[m.Name] {
			e.Edits = nil
			e.Remove(v, m.Name)
			return true
		}
		has[m.Name] = true
	}
	for _, m := range v.Members() {
		to := wanted[m.Name]
		switch {
		case Equal(m.JSON(), to):
		case m.IsObject() && to[0] == '{':
			if e.Rewrite(m.Value, to) {
				return true
			}
		default:
			e.Replace(m.Value, m.Offset, to)
		}
	}
	var added []Item
	for token, value := range jsonscan.Members(want) {
		if name, _ := jsonscan.Text(token); !has[name] {
			added = append(added, Item{name, value})
		}
	}
	e.Insert(v, added)
	return false
}
