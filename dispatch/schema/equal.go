package schema

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// equal reports whether two JSON values are equal. Numbers are compared by value, so 1, 1.0 and
// 10e-1 are equal, and objects regardless of the order of their members. equal returns false when
// no steps are left.
func (v *validator) equal(docA *index, a uint32, docB *index, b uint32) bool {
	if !v.step(1) || docA.kind(a) != docB.kind(b) {
		return false
	}
	switch docA.kind(a) {
	case null:
		return true
	case boolean:
		return docA.isTrue(a) == docB.isTrue(b)
	case number:
		d, e := jsonscan.ParseDecimal(docA.raw(a)), jsonscan.ParseDecimal(docB.raw(b))
		return v.step((len(docA.raw(a))+len(docB.raw(b)))/bytesPerStep) && d.Compare(&e) == 0
	case str:
		if len(docA.raw(a)) != len(docB.raw(b)) && !docA.nodes[a].escaped &&
			!docB.nodes[b].escaped {
			return false
		}
		return v.step((len(docA.raw(a))+len(docB.raw(b)))/bytesPerStep) &&
			string(docA.text(a)) == string(docB.text(b))
	case array:
		i, j := a+1, b+1
		for i < docA.nodes[a].next && j < docB.nodes[b].next {
			if !v.equal(docA, i, docB, j) {
				return false
			}
			i, j = docA.nodes[i].next, docB.nodes[j].next
		}
		return i == docA.nodes[a].next && j == docB.nodes[b].next
	}
	if docA.count(a) != docB.count(b) {
		return false
	}
	return v.hasMembersOf(docA, a, docB, b) && v.hasMembersOf(docB, b, docA, a)
}

// hasMembersOf reports whether object b has every member of object a. The search for a name starts
// after the name found before, so that objects with the same order take one pass.
func (v *validator) hasMembersOf(docA *index, a uint32, docB *index, b uint32) bool {
	first, end := b+1, docB.nodes[b].next
	at := first
	for name, value := range docA.members(a) {
		text := string(docA.text(name))
		started := at
		if !v.step(len(text) / bytesPerStep) {
			return false
		}
		for string(docB.text(at)) != text {
			if at = docB.nodes[at+1].next; at >= end {
				at = first
			}
			if at == started || !v.step(1+len(docB.raw(at))/bytesPerStep) {
				return false
			}
		}
		if !v.equal(docA, value, docB, at+1) {
			return false
		}
		if at = docB.nodes[at+1].next; at >= end {
			at = first
		}
	}
	return true
}

// hash returns the same number for equal values. The schema's random seed prevents prepared
// collisions.
func (v *validator) hash(n uint32) uint64 {
	doc := &v.doc
	cost := 1
	if k := doc.kind(n); k == str || k == number {
		cost += v.stepsFor(n)
	}
	if !v.step(cost) {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(v.schema.seed)
	h.WriteByte(byte(doc.kind(n)))
	switch doc.kind(n) {
	case boolean:
		h.WriteByte(doc.data[doc.nodes[n].start])
	case number:
		d := jsonscan.ParseDecimal(doc.raw(n))
		var head [9]byte
		head[0] = byte(d.Sign())
		binary.LittleEndian.PutUint64(head[1:], uint64(d.Pow))
		h.Write(head[:])
		h.Write(d.Whole)
		h.Write(d.Frac)
	case str:
		h.Write(doc.text(n))
	case array:
		var part [8]byte
		for item := range doc.items(n) {
			binary.LittleEndian.PutUint64(part[:], v.hash(item))
			h.Write(part[:])
		}
	case object:
		var sum uint64 // of the members' hashes: it does not depend on their order
		for name, value := range doc.members(n) {
			if !v.step(v.stepsFor(name)) {
				return 0
			}
			var member maphash.Hash
			member.SetSeed(v.schema.seed)
			member.Write(doc.text(name))
			var part [8]byte
			binary.LittleEndian.PutUint64(part[:], v.hash(value))
			member.Write(part[:])
			sum += member.Sum64()
		}
		var part [8]byte
		binary.LittleEndian.PutUint64(part[:], sum)
		h.Write(part[:])
	}
	return h.Sum64()
}

// equalItems returns the positions of two equal items of an array: second is the first item that
// equals an earlier one. It compares short arrays pair by pair, and long ones by hash.
func (v *validator) equalItems(n uint32) (first, second int, found bool) {
	doc := &v.doc
	const short = 8
	if doc.count(n) <= short {
		j := 0
		for b := range doc.items(n) {
			i := 0
			for a := range doc.items(n) {
				if a == b {
					break
				}
				if v.equal(doc, a, doc, b) {
					return i, j, true
				}
				i++
			}
			j++
		}
		return 0, 0, false
	}
	type item struct {
		hash     uint64
		position int
		node     uint32
	}
	var items []item
	for a := range doc.items(n) {
		items = append(items, item{v.hash(a), len(items), a})
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.hash != b.hash {
			if a.hash < b.hash {
				return -1
			}
			return 1
		}
		return a.position - b.position
	})
	for i := 1; i < len(items); i++ {
		a, b := items[i-1], items[i]
		if a.hash == b.hash && v.equal(doc, a.node, doc, b.node) &&
			(!found || b.position < second) {
			first, second, found = a.position, b.position, true
		}
	}
	return first, second, found
}
